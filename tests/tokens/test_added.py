"""Tokenizers that a user adds have the tokens that their files define; what would not is refused."""

from __future__ import annotations

import base64
import functools
import itertools
import json
import random
import re
import subprocess
import sys
import sysconfig
import unicodedata
from pathlib import Path

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import published
from tests.support.plain_bpe import plain_lengths
from tests.support.published import every_name, lengths_by, needed, reference_from
from tests.support.texts import ANYTHING, AWKWARD, EMOJI, LONG_RUNS
from tests.support.tiers import as_nightly, examples, nightly, times
from tests.support.toy_models import toy, written
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused, TokenizerUnavailable
from tokcap.tokens import added, adding, count_bytes, nfc, open_tokenizer, small_text, vocabulary
from tokcap.tokens.other_pre_splits import OTHER_ASCII_PRE_SPLIT, OTHER_CLASS_PRE_SPLIT
from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.sources import split_names


@pytest.fixture
def place(with_store):
    return Environment({"TOKCAP_DATA_DIR": str(with_store)})


@pytest.fixture
def file_of(tmp_path):
    def write(content: dict | bytes) -> str:
        path = tmp_path / "tokenizer.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    return write


def test_an_added_vocabulary_is_used_by_its_name(inside, place, file_of):
    model = toy()
    ran = inside("tokenizer", "add", "my.own-1", file_of(model))
    assert (ran.status, ran.out[:15]) == (0, b"added my.own-1:")
    text = "the other 12 bathers\n" * 40
    count = len(plain_lengths(model, text))
    assert inside("--tokenizer", "my.own-1", "--token-count", stdin=text.encode()).out == b"%d\n" % count
    page = inside("--tokenizer", "my.own-1", "-n", "70", "-o", "json", stdin=text.encode()).json
    digest = inside("tokenizer", "show", "my.own-1", "-o", "json").json["data"]["source_sha256"]
    assert (page["meta"]["tokenizer"], page["meta"]["tokenizer_digest"]) == ("my.own-1", digest[:16])
    next_page = inside(*page["meta"]["continue"]).json
    assert text.startswith(page["data"][0] + next_page["data"][0])
    counted = inside("count", "--tokenizer", "my.own-1", "-o", "json", stdin=text.encode()).json
    assert (counted["meta"]["token_count"], counted["meta"]["tokenizer_digest"]) == (count, digest[:16])


def test_added_tokenizers_are_listed_shown_and_removed(inside, place, file_of):
    assert b"one" not in inside("tokenizer", "list").out
    inside("tokenizer", "add", "one", file_of(toy()))
    lines = map(bytes.split, inside("tokenizer", "list").out.splitlines())
    assert [b"one", b"258", b"tokens", digest_of(inside)] in [*lines]
    assert b"intact               yes\n" in inside("tokenizer", "show", "one").out
    assert b"one\tadded" in inside("completion", "--list", "tokenizers").out
    assert inside("tokenizer", "remove", "one").out == b"removed one\n"
    assert inside("tokenizer", "remove", "one").status == 1
    assert inside("--tokenizer", "one", "--", "true").status == 125


def test_an_added_tokenizer_is_checked_with_the_file_that_it_was_compiled_from(
    inside, place, file_of, tmp_path
):
    pytest.importorskip(
        "tokenizers", reason="the package tokenizers is not installed: pip install '.[nightly]'"
    )
    source = file_of(toy())
    inside("tokenizer", "add", "one", source)
    (tmp_path / "text").write_text("the 99")
    checked = inside("tokenizer", "check", "one", str(tmp_path / "text"))
    assert (checked.status, b"4 of 4 tokens are the same" in checked.out) == (0, True)
    Path(source).write_bytes(b"{}")
    refused = inside("tokenizer", "check", "one", str(tmp_path / "text"))
    assert (refused.status, b"is not the file that 'one' was compiled from" in refused.err) == (1, True)


def digest_of(inside) -> bytes:
    return inside("tokenizer", "show", "one", "-o", "json").json["data"]["source_sha256"][:16].encode()


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "x" * 65, "a b", "é"])
def test_a_name_that_is_not_plain_is_refused(inside, place, file_of, name):
    ran = inside("tokenizer", "add", "--", name, file_of(toy()))
    assert (ran.status, ran.err.count(b"\n")) == (2, 1)
    assert not added.names(place)


@pytest.mark.parametrize("name", ["cl100k_base", "approx", "gpt-4o", "taken"])
def test_a_name_that_is_taken_is_refused(inside, place, file_of, name):
    inside("tokenizer", "add", "taken", file_of(toy()))
    ran = inside("tokenizer", "add", name, file_of(toy()))
    assert (ran.status, ran.err.count(b"\n")) == (1, 1)


def without(model: dict, *path: str) -> dict:
    inner = model
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return model


def changed(**parts) -> dict:
    model = toy()
    for key, value in parts.items():
        (model["model"] if key in ("vocab", "merges", "unk_token", "byte_fallback") else model)[key] = value
    return model


REFUSED = {
    "not JSON": (b"{", "it is not JSON"),
    "not a vocabulary": (b"PK\x03\x04" * 9, "it is not a vocabulary"),
    "empty": (b"", "it is not a vocabulary"),
    "deep": (b'{"model":' + b"[" * 100_000, "it is not JSON"),
    "no model": ({"version": "1.0"}, "it has no 'model'"),
    "another model": (changed(model={"type": "Unigram"}), "its model is 'Unigram'"),
    "a byte is missing": (without(toy(), "model", "vocab", "a"), "it has no token for the byte 0x61"),
    "merges of what is not there": (changed(merges=[["q", "zz"]]), "merge 1 is not a pair of its tokens"),
    "merges that are numbers": (changed(merges=[7]), "merge 1 is not a pair of its tokens"),
    "a byte fallback without bytes": (changed(byte_fallback=True), "it has no token for the byte 0x00"),
    "a token for the unknown": (changed(unk_token="<unk>"), "its model has unk_token"),
    "another normalizer": (changed(normalizer={"type": "Lowercase"}), "its normalizer is Lowercase"),
    "another split": (changed(pre_tokenizer={"type": "Metaspace"}), "the part 'Metaspace'"),
    "an unknown pattern": (
        changed(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}),
        "its pre-split is not one that can be compiled",
    ),
    "a prefix": (
        changed(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": True}),
        "it puts a space before every text",
    ),
    "a long token": (
        toy(more_tokens=["x" * 300], ignore_merges=True),
        "it has a token of more than 255 bytes",
    ),
    "a whole token of two": (
        toy(more_tokens=["ab"], ignore_merges=True),
        "is found whole, but (b'a', b'b') is not merged to it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compiled_exactly_is_refused_in_one_line(inside, place, file_of, case):
    content, reason = REFUSED[case]
    ran = inside("tokenizer", "add", "one", file_of(content))
    assert (ran.status, ran.err.count(b"\n")) == (1, 1)
    assert reason in ran.err.decode()
    assert not added.names(place)


@functools.cache
def small_table() -> bytes:
    """The first tokens of the included o200k_base, as a table."""
    return b"".join(vocabulary.load("o200k_base").published_table().splitlines(keepends=True)[:5000])


@functools.cache
def small_encoding(pattern: str) -> tiktoken.Encoding:
    rows = (line.split() for line in small_table().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in rows}
    return tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


@pytest.fixture
def table_of(tmp_path):
    """Write a small table, or a part of it, and return its path."""

    def write(change=lambda table: table) -> str:
        path = tmp_path / "own.tiktoken"
        path.write_bytes(change(small_table()))
        return str(path)

    return write


@examples(30)
@given(text=ANYTHING)
def test_a_table_has_the_tokens_of_tiktoken(place, table_of, text):
    if "own" not in added.names(place):
        adding.add("own", table_of(), place, "o200k_base")
    tokenizer, encoding = open_tokenizer("own", place), small_encoding(PRE_SPLIT["o200k_base"])
    assert tokenizer.count(text) == len(encoding.encode_ordinary(text))


@pytest.mark.parametrize(
    ("change", "pre_split", "reason"),
    [
        (
            lambda table: table,
            "",
            "a table has no pattern; name it with --pre-split: cl100k_base, o200k_base",
        ),
        (lambda table: table, "[a-z]+", "its pre-split is not one that can be compiled: [a-z]+"),
        (lambda table: table + b"IQ== 200000\n", "gpt2", "the token of rank 200000 has a rank already"),
        (lambda table: table + b"//// 7\n", "gpt2", "two of its tokens have the same rank"),
        (lambda table: table[:-3] + b"x y\n", "gpt2", "is not a token and its rank"),
        (lambda table: b"\n".join(table.splitlines()[:99]), "gpt2", "it has no token for the byte"),
    ],
)
def test_a_table_that_is_damaged_or_without_a_pattern_is_refused(place, table_of, change, pre_split, reason):
    with pytest.raises(TokenizerRefused) as refused:
        adding.add("own", table_of(change), place, pre_split)
    assert reason in str(refused.value)


@needed
@nightly
def test_tekken_has_the_tokens_that_mistral_makes_of_it(place):
    source = Path(published.PLACE, "tekken.json")
    content = json.loads(source.read_bytes())
    config = content["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in content["vocab"][:size]}
    encoding = tiktoken.Encoding(
        "tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={}
    )
    adding.add("tekken", str(source), place)
    tokenizer, dice = open_tokenizer("tekken", place), random.Random(20)
    for _ in range(300):
        text = "".join(
            dice.choices([*EMOJI, "Don't", "ÉTÉ", " 2026", "漢字", "\n\n", "  x", "=>", "/"], k=12)
        )
        assert list(tokenizer.token_lengths(text)) == lengths_by_tiktoken(encoding, text)


def lengths_by_tiktoken(encoding, text: str) -> list[int]:
    return list(map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text))))


def test_tekken_with_fewer_tokens_than_it_says_is_refused(place, file_of):
    config = {"pattern": PRE_SPLIT["tekken"], "default_vocab_size": 9, "default_num_special_tokens": 1}
    with pytest.raises(TokenizerRefused, match="it has 0 tokens, and not 8"):
        adding.add("own", file_of({"config": config, "vocab": []}), place)
    rows = [{"rank": 0, "token_bytes": "?"}] * 8
    with pytest.raises(TokenizerRefused, match="entry 1 is not a token and its rank"):
        adding.add("own", file_of({"config": config, "vocab": rows}), place)


def test_an_enormous_file_and_one_that_is_not_regular_are_refused_unread(inside, place, tmp_path):
    large, pipe = tmp_path / "large.json", tmp_path / "pipe"
    with large.open("wb") as file:
        file.write(b"{")
        file.truncate(1 << 40)
    subprocess.run(["mkfifo", pipe], check=True)
    for path, reason in (
        (large, b"it has 1048576 MB"),
        (pipe, b"not a regular file"),
        (tmp_path, b"not a regular file"),
        ("/dev/zero", b"not a regular file"),
    ):
        ran = inside("tokenizer", "add", "one", str(path))
        assert (ran.status, ran.err.count(b"\n")) == (1, 1)
        assert reason in ran.err


@pytest.mark.parametrize("value", [b"[],", as_nightly(b"{},"), as_nightly(b"1,")])
def test_a_file_of_very_many_values_is_refused_before_it_is_parsed(
    inside, place, file_of, monkeypatch, value
):
    content = b'{"model":{"type":"BPE","vocab":{},"merges":[' + value * (1 << 22) + b"1]}}"
    path = file_of(content)
    monkeypatch.setattr("orjson.loads", lambda _: pytest.fail("it was parsed"))
    ran = inside("tokenizer", "add", "one", path)
    assert (ran.status, ran.err.count(b"\n")) == (1, 1)
    assert b"no vocabulary has more than 4194304" in ran.err


def test_cyclic_and_very_many_merges_end(place, file_of):
    # Each token is made of one that is made later, so no text ever has them.
    names = [written(bytes((97 + n % 26,)) * 2 + bytes((65 + n // 26,))) for n in range(600)]
    model = toy(())
    model["model"]["vocab"] |= {name: 300 + n for n, name in enumerate(names)}
    model["model"]["merges"] = []
    adding.add("cyclic", file_of(model), place)
    assert open_tokenizer("cyclic", place).count("aaA bbB") == 7


@pytest.mark.parametrize("damaged", ["description", "vocabulary", "buckets"])
def test_a_damaged_file_is_noticed(inside, place, file_of, damaged):
    inside("tokenizer", "add", "one", file_of(toy()))
    path = Path(added.place_of(place), "one", damaged)
    path.write_bytes(path.read_bytes()[:60])
    if damaged == "description":
        with pytest.raises(TokenizerUnavailable, match="damaged or of another version"):
            open_tokenizer("one", place)
        assert b"damaged" in inside("tokenizer", "list").out
    else:
        assert b"intact               no\n" in inside("tokenizer", "show", "one").out
    found = {check["name"]: check for check in inside("doctor", "-o", "json").json["data"]}
    assert (found["one"]["status"], found["one"]["remedy"]) == ("wrong", "tokcap tokenizer remove one")
    assert inside("tokenizer", "remove", "one").status == 0


@pytest.mark.provokes("TOKENIZER_FAILED")
def test_where_both_compiled_files_are_damaged_every_byte_counts(inside, place, file_of):
    inside("tokenizer", "add", "one", file_of(toy()))
    for name in ("vocabulary", "buckets"):
        path = Path(added.place_of(place), "one", name)
        path.write_bytes(path.read_bytes()[:-9])
    ran = inside("--tokenizer", "one", "-n", "900", "--", "sh", "-c", "seq 900; exit 3")
    assert (ran.status, ran.out.startswith(b"1\n2\n")) == (3, True)
    assert b"the files of one are damaged" in ran.err


def test_positions_of_an_earlier_vocabulary_of_the_same_name_are_not_used(inside, place, file_of):
    text = ("the others\n" * 60).encode()
    inside("tokenizer", "add", "one", file_of(toy()))
    first = inside("--tokenizer", "one", "-n", "50", "-o", "json", stdin=text).json["meta"]
    inside("tokenizer", "remove", "one")
    inside("tokenizer", "add", "one", file_of(toy((("o", "t"), ("ot", "h")))))
    shown = inside("show", first["handle"], "--tokenizer", "one", "--token-count").out
    assert shown == b"%d\n" % open_tokenizer("one", place).count(text.decode())


# Merges in any order, with parts that are made later or never, and the same token by several pairs.
PARTS = st.text("ab", min_size=1, max_size=3)


@examples(30)
@given(
    merges=st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=12, unique=True),
    texts=st.lists(st.text("ab", max_size=14), min_size=1, max_size=6),
    whole=st.booleans(),
)
@example(merges=[("ab", "a"), ("a", "ba"), ("a", "b"), ("b", "a")], texts=["abababa"], whole=False)
def test_ranks_of_pairs_become_ranks_of_tokens(merges, texts, whole, tmp_path_factory):
    parts = [part for pair in merges for part in pair]
    model = toy(merges, more_tokens=parts, ignore_merges=whole)
    directory = tmp_path_factory.mktemp("one")
    (directory / "tokenizer.json").write_text(json.dumps(model))
    env = Environment({"TOKCAP_DATA_DIR": str(directory / "data")})
    try:
        adding.add("one", str(directory / "tokenizer.json"), env)
    except TokenizerRefused:
        # A piece that is a token, whose last two parts are not merged.
        assert whole
        return
    tokenizer = open_tokenizer("one", env)
    for text in texts:
        assert list(tokenizer.token_lengths(text)) == plain_lengths(model, text)
    others = added.ENCODERS["byte_pair"](str(directory / "data" / "tokenizers" / "one"), tokenizer.described)
    with pytest.MonkeyPatch.context() as patch:
        # The merges of all pieces at once.
        patch.setattr(small_text, "MANY_PIECES", 1)
        together = "\n".join(texts)
        assert list(others.token_lengths(together)) == plain_lengths(model, together)
    tokenizer.prepare()
    for text in texts:
        assert list(tokenizer.token_lengths(text)) == plain_lengths(model, text)


@nightly
@examples(10)
@given(
    merges=st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=12, unique=True),
    text=st.text("ab\n 1é", max_size=14),
    whole=st.booleans(),
)
def test_the_reference_of_these_tests_has_the_tokens_of_the_package(merges, text, whole):
    parts = [part for pair in merges for part in pair]
    for model in (toy(merges, more_tokens=parts, ignore_merges=whole), with_digits()):
        assert plain_lengths(model, text) == lengths_by(reference_from(model), text)


def assert_same(tokenizer, reference, text: str) -> None:
    """Compare every token; in a text that is normalized first, their number."""
    lengths, expected = list(tokenizer.token_lengths(text)), lengths_by(reference, text)
    if tokenizer.prefix_tokens and expected:
        # The blank before the text.
        expected[0] -= 1
    if sum(expected) == len(text.encode()) and text == nfc.normalized(text):
        assert lengths == expected, ascii(text[:200])
    assert (len(lengths), tokenizer.count(text)) == (len(expected), len(expected)), ascii(text[:200])
    assert sum(lengths) == len(text.encode())


@every_name
@examples(10)
@given(text=ANYTHING)
@example(text="<think>\u1100\u1161\u11a8</think>")
def test_any_text_has_the_tokens_of_the_package(name, text):
    assert_same(published.opened(name), published.reference(name), text)


@every_name
@examples(10)
@given(
    text=st.lists(st.sampled_from([*EMOJI, "e\u0301", "\u0323", "가", "\u11a8", "ｶﾞ", "Å"]), max_size=12).map(
        "".join
    )
)
def test_emoji_and_marks_have_the_tokens_of_the_package(name, text):
    assert_same(published.opened(name), published.reference(name), text)


@every_name
def test_code_points_of_every_block_have_the_tokens_of_the_package(name):
    tokenizer, reference = published.opened(name), published.reference(name)
    # Ideographs, syllables and private use characters behave alike: every 61st is enough. Of the old
    # scripts of the second plane, every 17th.
    points = [
        *range(0x3400),
        *range(0x3400, 0xD800, 61),
        *range(0xE000, 0xF900, 61),
        *range(0xF900, 0x12400),
        *range(0x12400, 0x1D000, 17),
        *range(0x1D000, 0x1F000),
        *range(0x1F000, 0x110000, 997),
    ]
    for start in range(0, len(points), 64):
        characters = [chr(point) for point in points[start : start + 64]]
        assert_same(tokenizer, reference, "".join(map("a{0}A{0}\n{0}1 {0}{0}'{0}\u0301".format, characters)))


@every_name
def test_sources_of_this_python_have_the_tokens_of_the_package(name):
    library = Path(sysconfig.get_path("stdlib"))
    sources = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    tokenizer, reference = published.opened(name), published.reference(name)
    for source in random.Random(name).sample(sources, 10):
        text = source.read_bytes().decode("utf-8", "replace")
        assert_same(tokenizer, reference, text)
        assert count_bytes(text.encode(), tokenizer) == tokenizer.count(text)


@every_name
@pytest.mark.parametrize("run", ["ideographs", "digits", "marks", "contractions", "blanks and newlines"])
def test_a_long_run_is_counted_in_parts_as_it_is_whole(name, run):
    tokenizer, text = published.opened(name), LONG_RUNS[run]
    expected = len(lengths_by(published.reference(name), text))
    assert count_bytes(text.encode(), tokenizer) == expected


@every_name
def test_pages_join_to_the_output_and_stay_within_the_limit(inside, monkeypatch, name):
    monkeypatch.setenv("TOKCAP_DATA_DIR", published.data_dir(name))
    text = "A line of words, with numbers 123456 and größe e\u0301 漢字仮名.\n  indented: {'a': 1}\n\n" * 6
    shown, offset, limit = [], 0, 40
    while offset is not None:
        ran = inside(
            *("--tokenizer", name, "-n", str(limit), "--token-offset", str(offset), "-o", "json"),
            stdin=text.encode(),
        )
        assert len(lengths_by(published.reference(name), ran.data_text.decode())) <= limit
        shown.append(ran.json["data"][0])
        offset = ran.json["meta"].get("next_offset")
    assert len(shown) > 1
    assert "".join(shown) == text


@nightly
def test_normalization_is_that_of_the_package():
    tokenizers = pytest.importorskip(
        "tokenizers", reason="the package tokenizers is not installed: pip install '.[nightly]'"
    )
    reference = tokenizers.normalizers.NFC()
    # Marks of many classes, around every character that may combine, and some that do not.
    marks = "\u0338\u0c4d\u3099\u05b0\u064b\u0e38\u0323\u0345\u0307\u302a\u0f71"
    for point in (*range(0x100, 0xD800), *range(0xE000, 0x33480), *range(0xE0000, 0xE0200)):
        character = chr(point)
        if (
            unicodedata.category(character)[0] == "M"
            or unicodedata.decomposition(character)
            or point % 97 == 0
        ):
            around = "".join(f"a{mark}{character}{mark}" for mark in marks)
            text = f"{around}a\u0323{character}\u0301{unicodedata.normalize('NFD', character)}\u0307"
            assert nfc.normalized(text) == reference.normalize_str(text), hex(point)


def test_normalization_makes_at_most_three_bytes_of_one_and_one_of_three():
    # Whatever normalization changes is in the first planes.
    for point in (*range(0xD800), *range(0xE000, 0x110000 if times() > 1 else 0x30000)):
        character = chr(point)
        size, normal = len(character.encode()), len(nfc.normalized(character).encode())
        apart = len(unicodedata.normalize("NFD", character).encode())
        assert normal <= added.MOST_NFC_GROWTH * size
        assert max(size, apart) <= added.MOST_NFC_GROWTH * normal


def test_text_that_grows_when_it_is_normalized_is_counted_before_it_is_shown(inside, place, file_of):
    """A letter of three bytes has six tokens: as many bytes as the limit do not certainly fit."""
    model = {**toy(), "normalizer": {"type": "NFC"}}
    adding.add("own", file_of(model), place)
    text = "\u0f93" * 10
    tokens = len(plain_lengths(model, text))
    assert tokens > len(text.encode())
    ran = inside("--tokenizer", "own", "-n", str(len(text.encode())), "-o", "json", stdin=text.encode())
    assert len(plain_lengths(model, ran.data_text.decode())) <= len(text.encode())
    assert ran.json["meta"]["truncated"]
    assert len(open_tokenizer("own", place).token_lengths(text)) == tokens


def test_a_small_text_loads_neither_tiktoken_nor_re(place, file_of, with_store):
    adding.add("own", file_of(toy()), place)
    code = (
        "import sys\n"
        "from tokcap.tokens import open_tokenizer\n"
        "open_tokenizer('own').count('Well, well: ä')\n"
        "print(sorted({'re', 'tiktoken', 'json', 'typing', 'regex'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        check=False,
        env={
            "PYTHONPATH": sysconfig.get_path("purelib") + ":" + str(Path(added.__file__).parents[2]),
            "TOKCAP_DATA_DIR": str(with_store),
        },
    )
    assert (ran.stdout, ran.stderr) == (b"[]\n", b"")


@pytest.mark.parametrize("pre_split", OTHER_ASCII_PRE_SPLIT)
def test_a_pattern_for_ascii_makes_the_pieces_of_the_one_for_all_texts(pre_split):
    patterns = OTHER_ASCII_PRE_SPLIT[pre_split], OTHER_CLASS_PRE_SPLIT[pre_split]
    quick, general = (re.compile(pattern).findall for pattern in patterns)
    # Every text of up to four characters that differ in class, then random ones.
    for size in range(1, 5 if times() > 1 else 4):
        for characters in itertools.product(b"aZ0 \t\n\r\x01\x7f!'~", repeat=size):
            text = bytes(characters)
            assert quick(text) == general(text)
            assert b"".join(quick(text)) == text
    chance = random.Random(20)
    for _ in range(50 * times()):
        text = bytes(chance.choices(range(0x80), k=200))
        assert quick(text) == general(text)


def test_the_first_merges_of_a_description_are_checked(place, file_of):
    model = toy()
    described = adding.add("one", file_of(model), place)
    assert described.first_merges == "7468" + "8065"
    path = Path(added.place_of(place), "one", "description")
    text = "the other bathers breathe, then they loathe their path; lathe with thee thine anthem"
    path.write_bytes(path.read_bytes() + b"first_merges 8181\n")
    assert list(open_tokenizer("one", place).token_lengths(text)) == plain_lengths(model, text)
    for damaged in (path.read_bytes() + b"first_merges zz\n", path.read_bytes().split(b"first_merges")[0]):
        path.write_bytes(damaged)
        with pytest.raises(TokenizerUnavailable, match="is damaged or of another version"):
            open_tokenizer("one", place)


@pytest.mark.parametrize("pre_split", ["kimi", "qwen35"])
@examples(30)
@given(text=ANYTHING)
@example(text="漢字かな々〇⺀12〇 'ſ e\u0301x A漢'LL\n\n /\n⼀a 한국어 \U00016ff0")
def test_a_table_with_another_pattern_has_the_tokens_of_tiktoken(place, table_of, pre_split, text):
    if "own" not in added.names(place):
        adding.add("own", table_of(), place, pre_split)
    pattern = {"kimi": split_names.KIMI}.get(pre_split, PRE_SPLIT[pre_split])
    tokenizer, encoding = open_tokenizer("own", place), small_encoding(pattern)
    assert tokenizer.count(text) == len(encoding.encode_ordinary(text))
    assert tokenizer.byte_pair.count(text) == tokenizer.count(text)


def with_digits() -> dict:
    """A model that splits digits apart before the split of GPT-2."""
    model = toy((("t", "h"), (" ", " "), (" ", "th"), ("1", "2"), (" ", "1"), ("\n", "\n")))
    model["pre_tokenizer"]["pretokenizers"] = [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]
    return model


@examples(30)
@given(text=AWKWARD)
def test_single_digits_are_split_apart_before_the_split_of_gpt_2(place, file_of, text):
    # What is assigned later than this Python knows may have another class in the reference.
    text = "".join(one for one in text if unicodedata.category(one) != "Cn")
    if "own" not in added.names(place):
        adding.add("own", file_of(with_digits()), place)
    text = f"th  12 th{text}  1\n\nth"
    assert list(open_tokenizer("own", place).token_lengths(text)) == plain_lengths(with_digits(), text)
