"""Secrets are masked wherever a terminal shows them, and nothing else is touched."""

import itertools
import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.secret_lines import HARMLESS, SECRETS
from tests.support.secret_samples import BODY, GITHUB, JWT, TOKENS, pem
from tests.support.tiers import some_everyday
from tokcap.filters import kinds, redact
from tokcap.filters.redact import WINDOW_BYTES, Redactor
from tokcap.filters.search import PIVOT, landmarks_in

MASK = b"[REDACTED]"


def masked(text: str | bytes) -> tuple[str, dict[str, int]]:
    redactor = Redactor()
    data = text.encode() if isinstance(text, str) else text
    out = redactor.feed(data) + redactor.flush()
    return out.decode("utf-8", "surrogateescape"), redactor.found


@pytest.mark.parametrize(
    "around", ["{}", "see {} here", '{{"x": "{}"}}', "a,{},b", "X={}&y", "https://h/?k={}"]
)
def test_a_token_is_masked_wherever_it_stands(around):
    before, after = around.format("\0").split("\0")
    for name, token in [(name, token) for name, tokens in TOKENS.items() for token in tokens]:
        out, counts = masked(f"{before}{token}{after}\n")
        assert out.startswith(before)
        assert out.endswith(f"{MASK.decode()}{after}\n")
        assert token[-12:] not in out
        assert counts == {name: 1}


@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"])
def test_a_key_block_keeps_its_borders_and_its_number_of_lines(label):
    out, counts = masked("before\n" + pem(label) + "after\n")
    assert out == "before\n" + pem(label, "[REDACTED]\n[REDACTED]\n[REDACTED]") + "after\n"
    assert counts == {"private key": 1}


@pytest.mark.parametrize(
    ("label", "headers"),
    [
        ("OPENSSH PRIVATE KEY", ""),
        ("ENCRYPTED PRIVATE KEY", ""),
        ("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123\n\n"),
        ("PGP PRIVATE KEY BLOCK", "Version: 1\nComment: a key\n\n"),
    ],
)
def test_a_key_block_may_have_headers_and_the_text_after_it_is_kept(label, headers):
    out, counts = masked(pem(label, headers + BODY) * 2 + "password: str\n")
    assert out == pem(label, headers + "[REDACTED]\n[REDACTED]\n[REDACTED]") * 2 + "password: str\n"
    assert counts == {"private key": 2}


@pytest.mark.parametrize("depth", [1, 2])
def test_a_key_in_a_json_string_is_masked_and_the_document_stays_one(depth):
    text = {"private_key": pem("PRIVATE KEY"), "client_id": "12"}
    for _ in range(depth):
        text = json.dumps(text)
    out, counts = masked(text)
    for _ in range(depth):
        out = json.loads(out)
    assert out == {"private_key": pem("PRIVATE KEY", "[REDACTED]\n[REDACTED]\n[REDACTED]"), "client_id": "12"}
    assert counts == {"private key": 1}


@pytest.mark.parametrize("prefix", ["    ", "12: ", "2024-01-01T00:00:00Z ", "| ", "> "])
def test_a_key_is_masked_when_a_tool_prefixes_each_line(prefix):
    shown = "".join(prefix + line + "\n" for line in pem("RSA PRIVATE KEY").splitlines())
    out, _ = masked(shown)
    assert out.count("[REDACTED]") == 3
    assert [line[: len(prefix)] for line in out.splitlines()] == [prefix] * 5
    assert "c3d=" not in out


def test_a_key_without_an_end_never_leaks_and_does_not_hide_what_follows():
    out, counts = masked(
        "-----BEGIN RSA PRIVATE KEY-----\n" + "Q2+b" * 16 + "\nmake: done\nall is well\nbye\n"
    )
    assert out == "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED]\nmake: [REDACTED]\nall is well\nbye\n"
    assert counts == {"private key": 1}


@pytest.mark.parametrize("line_end", [b"\n", b"\\n", b""])
def test_a_key_of_any_length_is_masked_in_constant_memory(line_end):
    redactor = Redactor()
    out = redactor.feed(b'"-----BEGIN PRIVATE KEY-----' + line_end)
    for _ in range(3000):
        out += redactor.feed(b"Q2+b" * 16 + line_end)
        assert len(redactor._held) <= WINDOW_BYTES
    out += redactor.feed(b'-----END PRIVATE KEY-----", "x"') + redactor.flush()
    assert b"Q2+b" not in out
    assert out.endswith(b'-----END PRIVATE KEY-----", "x"')
    assert redactor.found == {"private key": 1}


def test_a_number_in_json_is_masked_in_quotes():
    assert masked('{"password": 123456, "n": 1}') == ('{"password": "[REDACTED]", "n": 1}', {"password": 1})


def test_what_tools_print_is_masked_exactly_where_it_is_secret():
    for shown, expected in SECRETS:
        out, counts = masked(shown)
        assert out == expected
        assert counts
        # The same in the middle of other output, and after a part of a line.
        assert masked(f"one\n{shown}\ntwo\n")[0] == f"one\n{expected}\ntwo\n"
    shown, expected = ("\n".join(lines) for lines in zip(*SECRETS, strict=True))
    assert masked(shown)[0] == expected


def test_what_tools_print_without_a_secret_is_not_changed():
    for line in HARMLESS:
        assert masked(line) == (line, {})
        assert masked(f"one\n{line}\ntwo\n") == (f"one\n{line}\ntwo\n", {})
    assert masked("\n".join(HARMLESS)) == ("\n".join(HARMLESS), {})


# Values that look like names of secrets, in the places where values are.
TELLING_VALUES = [
    "Password1",
    "secret123",
    "keyboard42",
    "mysecret",
    "mytoken",
    "author",
    "passport",
    "Tr0ub4dorKey9",
    "authPass9",
    "secretkey",
    "MySecretPass",
    "my-secret-key",
    "passw0rd",
    "token_abc",
    "Secret_Key_99",
    "keyring",
    "S3cr3tK3y",
    "authority",
]
PLACES = [
    "DB_PASSWORD={}",
    "password: {}",
    "  password: {}",
    "password={}",
    "password = {}",
    "--password={}",
    '"password": "{}"',
    "tool --password {} run",
    "https://h/?password={}&x=1",
    "Server=h;Password={};X=1",
    "mysql -u root -p{} shop",
    "sshpass -p {} ssh h",
    "https://bob:{}@h/",
    "curl -u bob:{} http://h",
    "machine h login bob password {}",
    "API_KEY={}",
    "Authorization: Bearer {}",
    "Cookie: session={}",
    "Set-Cookie: session={}; Path=/",
    'psk="{}"',
    "<password>{}</password>",
    "INFO user=bob password={}",
    "X-Api-Key: {}",
    "host=h password={} user=bob",
]


@pytest.mark.parametrize("place", some_everyday(PLACES, 12))
def test_a_value_that_looks_like_the_name_of_a_secret_is_masked(place):
    for value in TELLING_VALUES:
        assert masked(place.format(value))[0] == place.format(MASK.decode())


def test_many_cookies_are_masked_with_their_names_kept_even_at_the_border_of_a_window():
    cookies = "; ".join(f"name{number}=value{number}" for number in range(20))
    expected = "; ".join(f"name{number}=[REDACTED]" for number in range(20))
    assert masked(f"Cookie: {cookies}")[0] == f"Cookie: {expected}"
    for before in (-4200, -4096, -4000, -300, -20, 0):
        out, _ = masked("." * (WINDOW_BYTES + before) + f" Cookie: {cookies}\n")
        assert "value" not in out


def test_a_cookie_longer_than_a_window_is_masked_to_its_end():
    line = "-H 'Cookie: a=" + "x1" * WINDOW_BYTES + "; b=2' http://h"
    assert masked(line)[0] == "-H 'Cookie: a=[REDACTED]' http://h"


def test_a_secret_that_matches_two_kinds_is_counted_once_by_the_first():
    assert masked(f"password={GITHUB}!") == ("password=[REDACTED]", {"github token": 1})


def test_a_warning_says_how_many_of_which_kind():
    _, counts = masked(f"{GITHUB} {GITHUB}\n" + pem("PRIVATE KEY"))
    assert Redactor.notice(counts).message == "masked 3 secrets: 2 github tokens, 1 private key"
    assert Redactor.notice({"url credentials": 2}).message == "masked 2 secrets: 2 url credentials"
    assert Redactor.notice({"password hash": 2}).message == "masked 2 secrets: 2 password hashes"
    assert Redactor.notice({"jwt": 1}).message == "masked 1 secret: 1 jwt"


# Text that is rich in beginnings and ends of secrets.
PIECES = st.sampled_from(
    [piece.encode() for tokens in TOKENS.values() for piece in tokens]
    + [shown.encode() for shown, _ in SECRETS]
    + [line.encode() for line in HARMLESS]
    + [pem("EC PRIVATE KEY").encode(), pem("PRIVATE KEY").encode().replace(b"\n", b"\\n")]
    + [b"-----BEGIN PRIVATE KEY-----", b"-----END PRIVATE KEY-----", b"Q2+b" * 8, b"abc=", b"some words"]
    + [b"password", b"token", b"_", b"=", b": ", b'"', b"'", b"\\", b"\\n", b"\n", b"\r", b" ", b"--", b"-"]
    + [b"://", b"@", b":", b"/", b"\0", b"\xff\xfe", b"\xe2\x82", b"[REDACTED]", b"[", b"]", b"x", b"7", b","]
)
TEXTS = st.lists(PIECES, max_size=12).map(b"".join)


def fed(blocks) -> tuple[bytes, dict[str, int]]:
    redactor = Redactor()
    out = b"".join([redactor.feed(block) for block in blocks])
    return out + redactor.flush(), redactor.found


@given(text=TEXTS, cuts=st.lists(st.integers(0, 2000), max_size=8), small=st.booleans())
def test_the_result_is_the_same_for_every_chunking(text, cuts, small):
    with pytest.MonkeyPatch.context() as patch:
        if small:
            # So that lines are longer than a window.
            patch.setattr(redact, "WINDOW_BYTES", 256)
            patch.setattr(redact, "MARGIN_BYTES", 128)
        borders = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        blocks = [text[start:end] for start, end in itertools.pairwise(borders)]
        whole = fed([text])
        assert fed(blocks) == whole
        assert fed([text[i : i + 1] for i in range(len(text))]) == whole


@given(text=st.lists(PIECES, max_size=12).map(b"\n".join))
def test_masked_text_is_not_masked_again(text):
    # In lines of their own: where two secrets run together, a mask can make the second one visible.
    once, _ = fed([text])
    assert fed([once]) == (once, {})


@given(text=TEXTS)
def test_lines_are_never_added_or_lost(text):
    out, _ = fed([text])
    assert (out.count(b"\n"), out.count(b"\r")) == (text.count(b"\n"), text.count(b"\r"))


def has_no_landmark(data: bytes) -> bool:
    return not PIVOT.search(data) and b":" not in data


@given(data=st.binary(max_size=300).filter(has_no_landmark))
@example(bytes(range(256)).replace(b":", b""))
def test_bytes_without_a_secret_pass_as_they_are(data):
    assert fed([data]) == (data, {})


@given(text=TEXTS)
def test_every_landmark_is_found(text):
    """Each word at which a kind of secret begins, wherever it is in a text."""
    found = {(place, each.name) for place, one in landmarks_in(text, 0, len(text)) for _, each in one.kinds}
    for each in kinds.KINDS:
        searched = text.lower() if each.any_case else text
        for word in each.landmarks:
            places = [match.start() for match in re.finditer(b"(?=%b)" % re.escape(word), searched)]
            assert all((place, each.name) in found for place in places)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | PIECES.map(lambda b: b.decode("latin-1")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["password", "token", "api_key", "url", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(document=VALUES, nested=st.booleans())
@example(document=["mysql -p"], nested=False)
@example(document=["A temporary password is generated for root@localhost: kd8;Ee_pW3aF"], nested=True)
@example(document=["--password is required"], nested=True)
@example(document=["802-11-wireless-security.psk:   wifisecret", "WIFI:S:n;P:wifisecret"], nested=True)
@example(document=["mysql -p", 1, {"a": "curl -u name:"}, "echo"], nested=True)
def test_json_stays_json(document, nested):
    text = json.dumps(json.dumps(document) if nested else document)
    out = json.loads(fed([text.encode()])[0])
    assert not nested or isinstance(json.loads(out), type(document))


def test_a_complete_line_is_passed_on_at_once():
    redactor = Redactor()
    assert redactor.feed(b"one\nsecret=ab") == b"one\n"
    assert redactor.feed(b"c1\r") == b"secret=[REDACTED]\r"
    assert redactor.feed(b"-----BEGIN PRIVATE KEY-----\n" + b"Q2+b" * 16 + b"\n").endswith(MASK + b"\n")


@pytest.mark.parametrize(
    "secret", [GITHUB, JWT, "password=hunter2", '"password": "hunter2"', "://u:hunter2@h"]
)
def test_a_secret_at_the_border_of_a_window_is_masked(secret):
    for before in (*range(-70, 10, 7), -4200, -4096, -4000, -300):
        line = b"." * (WINDOW_BYTES + before) + b" " + secret.encode() + b" " + b"." * 100
        out, counts = fed([line])
        assert sum(counts.values()) == 1
        assert len(out) < len(line) - 4 or b"hunter2" not in out
        assert secret.encode() not in out


@pytest.mark.parametrize(("opening", "closing"), [(b"", b" "), (b'"', b'"'), (b"'", b"'"), (b'\\"', b'\\"')])
def test_a_secret_longer_than_a_window_is_masked_to_its_end(opening, closing):
    line = b"{password: " + opening + b"a1" * WINDOW_BYTES + closing + b", n: 1}"
    out, counts = fed([line])
    assert out == b"{password: " + opening + MASK + closing + b", n: 1}"
    assert counts == {"password": 1}


ADVERSE = [
    b"a",
    b"password=",
    b"-----BEGIN",
    b"-----BEGIN PRIVATE KEY-----",
    b"-",
    b"token: ",
    b'password:"\\',
]
ADVERSE += [
    b"--password '",
    b"eyJ",
    b" eyJ",
    b"://a:",
    b"://",
    b"curl ",
    b"password ",
    b"authorization: ",
    b"A_",
]
ADVERSE += [b"api_key", b"1", b"xox", b"\\", b"\\n", b"Q2+b" * 16 + b" "]


@pytest.mark.parametrize("start", [b"", b"-----BEGIN PRIVATE KEY-----\n" + b"Q2+b" * 16 + b"\n"])
def test_work_and_memory_grow_linearly_with_the_input(start, monkeypatch):
    """Every byte is looked at in a bounded number of windows."""
    # An eighth of the real sizes, so that a short text has many windows.
    window_bytes = WINDOW_BYTES // 8
    monkeypatch.setattr(redact, "WINDOW_BYTES", window_bytes)
    monkeypatch.setattr(redact, "MARGIN_BYTES", redact.MARGIN_BYTES // 8)
    looked = []
    really = Redactor._mask

    def mask(self, text, begin, *, whole):
        looked.append(len(text))
        return really(self, text, begin, whole=whole)

    monkeypatch.setattr(Redactor, "_mask", mask)
    for piece in ADVERSE:
        looked.clear()
        redactor = Redactor()
        redactor.feed(start)
        size = len(start)
        block = piece * (window_bytes * 3 // 4 // len(piece))
        for _ in range(6):
            redactor.feed(block)
            size += len(block)
            assert len(redactor._held) < window_bytes
        redactor.flush()
        assert sum(looked) <= size * 1.2 + window_bytes, piece


def test_no_pattern_can_backtrack_without_bound():
    """Every repeat is possessive or bounded, so that a match costs no more than a line and a constant."""
    parser, constants = re._parser, re._constants
    repeats = (constants.MAX_REPEAT, constants.MIN_REPEAT)

    def unbounded(parsed):
        for operation, argument in parsed:
            if operation in repeats and argument[1] == constants.MAXREPEAT:
                yield argument
            parts = argument if isinstance(argument, (tuple, list)) else [argument]
            for part in parts:
                if isinstance(part, parser.SubPattern):
                    yield from unbounded(part)
                elif isinstance(part, list):
                    for one in part:
                        if isinstance(one, parser.SubPattern):
                            yield from unbounded(one)

    for kind in kinds.KINDS:
        parsed = parser.parse(kind.pattern.pattern, kind.pattern.flags)
        assert not list(unbounded(parsed)), kind.pattern.pattern


VALUE = "Tr0ub4dor&3xyz"
# What is shown of the environment, and what is left alone.
VARIABLES = {
    "DB_PASSWORD": VALUE,
    "API_KEY": "k3y/with+slash==",
    "PGPASSWORD": "pg8pass9word0",
    "SIGNING_KEY": "first line 1x2y\nsecond line 3z4w",
    "TOKEN_TYPE": "bearer-token",
    "AUTH_METHOD": "deviceCode",
    "KEY_FILE": "/home/someone/.ssh/id_ed25519",
    "TOKEN_LIMIT": "1234567890",
    "AUTH_URL": "https://login.example.com/v1",
    "PASS_SHORT": "a1b2c3d",
    "TOKCAP_TOKENIZER": "cl100k_base",
    "EDITOR": "Tr0ub4dor",
}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"connected with {VALUE} to db", "connected with [REDACTED] to db"),
        (f"{VALUE}{VALUE}", "[REDACTED][REDACTED]"),
        ("x=k3y/with+slash== y", "x=[REDACTED] y"),
        ("https://h/?q=Tr0ub4dor%263xyz&x", "https://h/?q=[REDACTED]&x"),
        ("  File \"a.py\", line 3, in f('pg8pass9word0')", "  File \"a.py\", line 3, in f('[REDACTED]')"),
        ("second line 3z4w", "[REDACTED]"),
        *((value, value) for name, value in list(VARIABLES.items())[4:]),
    ],
)
def test_values_of_variables_that_are_named_like_secrets_are_masked(text, kept):
    for cut in range(len(text)):
        redactor = Redactor(VARIABLES)
        parts = (text[:cut].encode(), text[cut:].encode() + b"\n")
        assert b"".join([*map(redactor.feed, parts), redactor.flush()]).decode() == f"{kept}\n"


def test_a_value_is_masked_in_a_line_of_any_length():
    line = "ab " * WINDOW_BYTES
    for place in (0, WINDOW_BYTES - 5, WINDOW_BYTES, 2 * WINDOW_BYTES - 7):
        redactor = Redactor(VARIABLES)
        data = f"{line[:place]} {VALUE} {line[place:]}".encode()
        assert redactor.feed(data) + redactor.flush() == data.replace(VALUE.encode(), MASK)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("DB_PASSWORD=\x1b[32mhunter12abc\x1b[0m", "DB_PASSWORD=\x1b[32m[REDACTED]\x1b[0m"),
        (
            '\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"hunter12"\x1b[0m\x1b[1;39m,',
            '\x1b[34;1m"password"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m"[REDACTED]"\x1b[0m\x1b[1;39m,',
        ),
        (f"\x1b[1m{GITHUB[:9]}\x1b[31m{GITHUB[9:]}\x1b[0m", "\x1b[1mghp_[REDACTED]\x1b[31m\x1b[0m"),
        (f"{VALUE[:5]}\x1b[1;31m{VALUE[5:]}\x1b[K end", "[REDACTED]\x1b[1;31m\x1b[K end"),
        ("\x1b[1mno\x1b[0m secret \x1b[3", "\x1b[1mno\x1b[0m secret \x1b[3"),
    ],
)
def test_a_colour_does_not_divide_a_secret(text, kept):
    for cut in range(len(text)):
        redactor = Redactor(VARIABLES)
        parts = (text[:cut].encode(), text[cut:].encode())
        assert b"".join([*map(redactor.feed, parts), redactor.flush()]).decode() == kept


@given(
    st.lists(st.sampled_from(["\x1b[0m", "\x1b[1;32m", "\n", "text ", "\x1b", "[", "m", "7"]), max_size=30)
)
def test_text_without_secrets_keeps_every_escape_in_its_place(parts):
    redactor = Redactor(VARIABLES)
    assert (
        b"".join([*(redactor.feed(part.encode()) for part in parts), redactor.flush()])
        == "".join(parts).encode()
    )
