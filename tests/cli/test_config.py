"""config.toml: what is wrong in it is told with file, line and key; a commented one can be written."""

import stat
import tomllib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.tiers import examples
from tokcap.cli.config.lines import line_of, placed_keys
from tokcap.cli.config.reading import contents_of, read_config
from tokcap.cli.config.writing import config_text
from tokcap.cli.options import OPTIONS
from tokcap.errors import UsageError
from tokcap.tokens.models import MODELS

AMBIENT = [option for option in OPTIONS if option.ambient]
SETTINGS = [
    line for line in config_text().splitlines() if line.startswith("#") and line[1:2] not in (" ", "")
]


@pytest.fixture
def refused(inside, tmp_path):
    """What a call says of a config file."""

    def run(text) -> str:
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        ran = inside("-o", "json", env={"TOKCAP_CONFIG": str(path)})
        assert ran.status == 125
        assert ran.err.count(b"\n") == 1
        assert ran.json["error"]["code"] == "USAGE"
        return ran.json["error"]["message"].removeprefix(str(path))

    return run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1", ":1: unknown key 'a'; tokcap doctor --write-config"),
        ("# x\n\ntoken-limit = 5", ":3: unknown key 'token-limit'; did you mean token_limit?"),
        ("keep = 'tail'\nresult_pct = 0.5", ":2: unknown key 'result_pct'; it belongs in [budget]"),
        ("[budget]\ntoken_limit = 5", ":2: unknown key 'budget.token_limit'; it belongs before all tables"),
        ("[budgte]\nresult_pct = 0.5", ":1: unknown key 'budgte'; did you mean [budget]?"),
        ("resultpct = 0.5", ":1: unknown key 'resultpct'; did you mean result_pct in [budget]?"),
        ("grep = 'x'", ":1: unknown key 'grep'; --grep cannot be configured"),
        ("budget = { floor_tokens = 1,\tturn_pct = 9 }", ":1: budget.turn_pct: '9' is not a fraction"),
        ("keep = '''\ntail\n'''", ":1: keep: 'tail\\n' is not one of"),
        ("fields = '''a\nb'''\nkeep = 1", ":1: fields: 'a\\nb' is not text"),
        ("[models.'a.b']\ncontext_window = 5\nwindow = 1", ":3: unknown key 'models.a.b.window'"),
        ("[models]\nx.tokenizer = 1", ":2: models.x.tokenizer: 1 is not the name of a tokenizer"),
        (
            "models.x.contextwindow = 1",
            ":1: unknown key 'models.x.contextwindow'; did you mean context_window?",
        ),
        ("keep = 'tail'\nkeep = 'head'", ":2: Cannot overwrite a value"),
        ("keep = 'tail\npty = 1 # '", ":1: Found invalid character"),
        ("a = 1\nkeep = [\n\n", ":2: "),
        ('keep = \'tail\'\n"""', ":2: "),
        (b"keep = 'tail'\n# \xff\n", ":2: is not UTF-8"),
        (f"keep = 'tail'\nturn = 'x'\ntoken_limit = {'9' * 5000}\npty = true\n", ":3: a number is too long"),
        ("keep = 'nope'\r\npty = 3\r\n", ":1: keep: 'nope' is not one of head, tail, ends"),
        ("pty = 3\nkeep = 'nope'", ":1: pty: 3 is not one of true"),
    ],
)
def test_what_is_wrong_is_told_with_file_line_and_key(refused, text, message):
    assert refused(text).startswith(message)


def test_an_empty_text_means_that_there_is_no_value_as_with_variables(tmp_path):
    assert read_config(b'token_limit = ""\ntimeout = ""', "c").values == {}
    with pytest.raises(UsageError, match="c:1: keep: '' is not"):
        read_config(b'keep = ""', "c")


GOOD_LINES = [line[1:] for line in SETTINGS if not line.startswith('#"')]
TOP = [line for line in GOOD_LINES if not any(line.startswith(o.key + " ") for o in AMBIENT if o.section)]
PADDING = st.sampled_from(
    ["", "# keep = 'nope'", '  # """', "\t", "# [budget]", "# nope = [", "#'''", "# kept\u2028 = 1"]
)
BAD_LINES = st.one_of(
    st.from_regex(r"[a-z]{3,12}_[0-9]{3}", fullmatch=True).map(lambda key: f"{key} = 1"),
    st.from_regex(r"'[a-z =#\[{.]{1,12}[0-9]'", fullmatch=True).map(
        lambda key: f'{key} . "x" = [1, {{ y = 2 }}]'
    ),
    st.sampled_from(["align", '"align"', "'align'", '"\\u0061lign"', " align\t"]).flatmap(
        lambda key: st.sampled_from(["1", "[]", "'x'", '"""x"""', "{ a = 1 }", "2020-01-01 10:00:00"]).map(
            lambda value: f"{key} = {value} # why"
        )
    ),
    st.sampled_from(
        ["= 1", "align", "align = ", "align = 'x", "align = 1 2", "[budget", "align == 1", "é = 1"]
    ),
)


@examples(150)
@given(
    st.lists(st.one_of(PADDING, st.sampled_from([line for line in TOP if not line.startswith("align")]))),
    BAD_LINES,
    st.lists(PADDING),
    st.booleans(),
)
def test_the_one_bad_line_of_any_config_is_the_one_that_is_named(before, bad, after, windows):
    # Each key once: a second one would be a mistake of its own.
    lines = [line for at, line in enumerate(before) if "=" not in line or line not in before[:at]]
    text = ("\r\n" if windows else "\n").join([*lines, bad, *after, "[budget]", "floor_tokens = 3", ""])
    with pytest.raises(UsageError, match=f"^config.toml:{len(lines) + 1}: ") as told:
        read_config(text.encode(), "config.toml")
    assert "\n" not in str(told.value)


@examples(100)
@given(
    st.recursive(
        st.one_of(st.integers(0, 9), st.sampled_from(["'#'", '"]\\""', '"""a\n"b""""', "'''}\n'''", "true"])),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda items: "[ # [\n" + ",\n".join(map(str, items)) + " ]"),
            st.lists(inner, max_size=3).map(
                lambda items: "{" + ", ".join(f"k{at}.'x y' = {item}" for at, item in enumerate(items)) + "}"
            ),
        ),
        max_leaves=8,
    )
)
def test_the_lines_of_keys_are_found_behind_any_value(value):
    text = (
        f"first = {value}\n\n  second . third = 1\n[[fourth]]\nfirst = {value}\n[ fourth . fifth ]\nsixth=1"
    )
    # Inline tables take no line breaks of arrays in some versions of TOML; nothing is promised for them.
    assume(is_toml(text))
    lines = text.split("\n")
    assert lines[line_of(("second", "third"), text) - 1].startswith("  second")
    assert lines[line_of(("fourth", "fifth"), text) - 1] == "[ fourth . fifth ]"
    assert line_of(("fourth", "fifth", "sixth"), text) == len(lines)
    assert line_of(("sixth",), text) is None


def is_toml(text):
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def test_the_search_for_a_line_ends_on_any_text():
    for text in (
        "[" * 50_000,
        "a = " + "{b=" * 50_000,
        "a = '''",
        "]",
        "a = }",
        "[[",
        '"',
        "a.",
        "a = 1 b = 2",
    ):
        assert len(list(placed_keys(text))) <= 50_001


class TestWriting:
    def test_the_file_is_put_where_tokcap_reads_it_and_its_path_is_printed(self, tokcap, tmp_path):
        ran = tokcap("doctor", "--write-config")
        path = tmp_path / "home" / ".config" / "tokcap" / "config.toml"
        assert (ran.status, ran.out, ran.err) == (0, f"{path}\n".encode(), b"")
        assert path.read_text() == config_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert tokcap("-n", "5", stdin=b"1\n2\n").status == 0

    def test_one_that_is_there_stays_as_it_is(self, tokcap, tmp_path):
        path = tmp_path / "mine.toml"
        for write in (lambda: path.write_text("keep = 'nope'\n"), lambda: path.symlink_to(tmp_path / "none")):
            write()
            ran = tokcap("doctor", "--write-config", "-o", "json", env={"TOKCAP_CONFIG": str(path)})
            assert ran.status == 1
            assert ran.err.count(b"\n") == 1
            assert ran.json["error"]["code"] == "CONFIG_EXISTS"
            assert path.is_symlink() or path.read_text() == "keep = 'nope'\n"
            path.unlink()
        assert not (tmp_path / "none").exists()

    def test_where_it_cannot_be_written_one_line_says_so(self, tokcap, tmp_path):
        (tmp_path / "file").write_text("")
        ran = tokcap(
            "doctor", "--write-config", env={"TOKCAP_CONFIG": str(tmp_path / "file" / "config.toml")}
        )
        assert ran.status == 125
        assert ran.err.startswith(b"tokcap: cannot write ")
        assert ran.err.count(b"\n") == 1

    def test_uncommented_it_says_exactly_the_defaults(self):
        text = "\n".join(line[1:] if line in SETTINGS else line for line in config_text().splitlines())
        found = contents_of(tomllib.loads(text))
        assert found.problems == ()
        assert found.values == {
            option.key: option.default for option in AMBIENT if option.default is not None
        }
        assert found.models == MODELS

    @pytest.mark.parametrize("line", SETTINGS, ids=lambda line: line.partition(" ")[0])
    def test_each_line_can_be_uncommented_alone(self, line):
        table = tomllib.loads(config_text().replace(f"\n{line}\n", f"\n{line[1:]}\n"))
        found = contents_of(table)
        assert found.problems == ()
        options = {option.key: option.default for option in AMBIENT}
        assert all(options[key] == value for key, value in found.values.items())
        assert all(MODELS[name] == model for name, model in found.models.items())
        assert len(found.values) + len(found.models) == (0 if line.endswith('= ""') and is_none(line) else 1)

    def test_every_option_stands_there_with_its_help_and_what_it_takes(self):
        prose = " ".join(config_text().replace("\n# ", " ").split())
        for option in AMBIENT:
            assert f"{option.flag}: {' '.join(option.help.split())}. Takes " in prose


def is_none(line: str) -> bool:
    return next(option for option in AMBIENT if line.startswith(f"#{option.key} ")).default is None
