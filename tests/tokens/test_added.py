"""Tokenizers that a user adds have the tokens that their files define; what would not is refused."""

from __future__ import annotations

import functools
import json
import subprocess
import unicodedata
from pathlib import Path

import pytest
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import published
from tests.support.plain_bpe import plain_lengths
from tests.support.published import every_name, lengths_by, reference_from
from tests.support.texts import ANYTHING
from tests.support.tiers import examples, nightly, times
from tests.support.toy_models import toy
from tests.support.vocabularies import published_table, ranks_of_table
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused, TokenizerUnavailable
from tokcap.tokens import added, adding, open_tokenizer
from tokcap.tokens.normalization import NORMALIZATIONS
from tokcap.tokens.pre_splits import PRE_SPLITS

nfc = NORMALIZATIONS["nfc"].of


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
    text = "the other 12 bathers\n" * 120
    count = len(plain_lengths(model, text))
    assert inside("--tokenizer", "my.own-1", "--token-count", stdin=text.encode()).out == b"%d\n" % count
    page = inside("--tokenizer", "my.own-1", "-n", "900", "-o", "json", stdin=text.encode()).json
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
    assert b"one\tadded" in inside("completion", "words", "--", "--tokenizer", "").out
    assert inside("tokenizer", "remove", "one").out == b"removed one\n"
    assert inside("tokenizer", "remove", "one").status == 1
    assert inside("--tokenizer", "one", "--", "true").status == 125


def digest_of(inside) -> bytes:
    return inside("tokenizer", "show", "one", "-o", "json").json["data"]["source_sha256"][:16].encode()


@pytest.mark.parametrize("name", ["../up", ".hidden", "a/b", "", "x" * 65, "a b", "é"])
def test_a_name_that_is_not_plain_is_refused(inside, place, file_of, name):
    ran = inside("tokenizer", "add", "--", name, file_of(toy()))
    assert (ran.status, ran.err.count(b"\n")) == (2, 1)
    assert not added.names(place)


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
    "not a vocabulary": (b"PK\x03\x04" * 9, "it is neither a tokenizer.json"),
    "empty": (b"", "it is neither a tokenizer.json"),
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
        "its pre-split is not known: none",
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
    return b"".join(published_table("o200k_base").splitlines(keepends=True)[:5000])


@functools.cache
def small_encoding(pattern: str) -> tiktoken.Encoding:
    ranks = dict(ranks_of_table(small_table()))
    return tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


@pytest.fixture
def table_of(tmp_path):
    """Write a small table, or a part of it, and return its path."""

    def write(change=lambda table: table) -> str:
        path = tmp_path / "own.tiktoken"
        path.write_bytes(change(small_table()))
        return str(path)

    return write


@pytest.mark.parametrize("pre_split", ["o200k_base", "cl100k_base", "kimi", "qwen35", "gpt2"])
@examples(30)
@given(text=ANYTHING)
@example(text="漢字かな々〇⺀12〇 'ſ e\u0301x A漢'LL\n\n /\n⼀a 한국어 \U00016ff0")
def test_a_table_has_the_tokens_of_tiktoken(place, table_of, pre_split, text):
    if pre_split + "-own" not in added.names(place):
        adding.add(pre_split + "-own", table_of(), place, pre_split)
    tokenizer = open_tokenizer(pre_split + "-own", place)
    encoding = small_encoding(PRE_SPLITS[pre_split].patterns[0])
    assert list(tokenizer.token_lengths(text)) == lengths_by_tiktoken(encoding, text)


@pytest.mark.parametrize(
    ("change", "pre_split", "reason"),
    [
        (
            lambda table: table,
            "",
            "a table has no pattern; name it with --pre-split: cl100k_base, o200k_base",
        ),
        (lambda table: table, "[a-z]+", "a table has no pattern"),
        (lambda table: table + b"IQ== 200000\n", "gpt2", "the token in row 5001 has a rank already"),
        (lambda table: table + b"//// 7\n", "gpt2", "two of its tokens have the same rank"),
        (lambda table: table[:-3] + b"x y\n", "gpt2", "is not a token and its rank"),
        (lambda table: b"\n".join(table.splitlines()[:99]), "gpt2", "it has no token for the byte"),
    ],
)
def test_a_table_that_is_damaged_or_without_a_pattern_is_refused(place, table_of, change, pre_split, reason):
    with pytest.raises(TokenizerRefused) as refused:
        adding.add("own", table_of(change), place, pre_split)
    assert reason in str(refused.value)


def lengths_by_tiktoken(encoding, text: str) -> list[int]:
    return list(map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text))))


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


@pytest.mark.parametrize("damaged", ["description", "definition", "lengths"])
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
@pytest.mark.parametrize("damaged", ["definition", "lengths"])
def test_where_a_compiled_file_is_damaged_every_byte_counts(inside, place, file_of, damaged):
    inside("tokenizer", "add", "one", file_of(toy()))
    path = Path(added.place_of(place), "one", damaged)
    path.write_bytes(path.read_bytes()[:-9])
    ran = inside("--tokenizer", "one", "-n", "900", "--", "sh", "-c", "seq 900; exit 3")
    assert (ran.status, ran.out.startswith(b"1\n2\n")) == (3, True)
    assert b"the files of one are damaged" in ran.err


def test_positions_of_an_earlier_vocabulary_of_the_same_name_are_not_used(inside, place, file_of):
    text = ("the others\n" * 400).encode()
    inside("tokenizer", "add", "one", file_of(toy()))
    first = inside("--tokenizer", "one", "-n", "900", "-o", "json", stdin=text).json["meta"]
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


@nightly
@examples(10)
@given(
    merges=st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=12, unique=True),
    text=st.text("ab\n 1é", max_size=14),
    whole=st.booleans(),
)
def test_the_reference_of_these_tests_has_the_tokens_of_the_package(merges, text, whole):
    parts = [part for pair in merges for part in pair]
    model = toy(merges, more_tokens=parts, ignore_merges=whole)
    assert plain_lengths(model, text) == lengths_by(reference_from(model), text)


def assert_same(tokenizer, reference, text: str) -> None:
    """Compare every token; in a text that is normalized first, their number."""
    lengths, expected = list(tokenizer.token_lengths(text)), lengths_by(reference, text)
    if tokenizer.prefix_tokens and expected:
        # The blank before the text.
        expected[0] -= 1
    if sum(expected) == len(text.encode()) and text == nfc(text):
        assert lengths == expected, ascii(text[:200])
    assert (len(lengths), tokenizer.count(text)) == (len(expected), len(expected)), ascii(text[:200])
    assert sum(lengths) == len(text.encode())


@every_name
@examples(10)
@given(text=ANYTHING)
@example(text="<think>\u1100\u1161\u11a8</think>")
def test_any_text_has_the_tokens_of_the_package(name, text):
    assert_same(published.opened(name), published.reference(name), text)


def test_normalization_makes_at_most_three_bytes_of_one_and_one_of_three():
    # Whatever normalization changes is in the first planes.
    for point in (*range(0xD800), *range(0xE000, 0x110000 if times() > 1 else 0x30000)):
        character = chr(point)
        size, normal = len(character.encode()), len(nfc(character).encode())
        apart = len(unicodedata.normalize("NFD", character).encode())
        assert normal <= added.MOST_GROWTH * size
        assert max(size, apart) <= added.MOST_GROWTH * normal


def test_text_that_grows_when_it_is_normalized_is_counted_before_it_is_shown(inside, place, file_of):
    """A letter of three bytes has six tokens: as many bytes as the limit do not certainly fit."""
    model = {**toy(), "normalizer": {"type": "NFC"}}
    adding.add("own", file_of(model), place)
    text = "\u0f93" * 600
    tokens = len(plain_lengths(model, text))
    assert tokens > len(text.encode())
    ran = inside("--tokenizer", "own", "-n", str(len(text.encode())), "-o", "json", stdin=text.encode())
    assert len(plain_lengths(model, ran.data_text.decode())) <= len(text.encode())
    assert ran.json["meta"]["truncated"]
    assert len(open_tokenizer("own", place).token_lengths(text)) == tokens


def test_without_the_package_the_extra_is_named_in_one_line(inside, place, file_of, monkeypatch):
    adding.add("own", file_of(toy()), place)
    monkeypatch.setattr(added, "has_package", lambda: False)
    for words in (("tokenizer", "add", "two", file_of(toy())), ("--tokenizer", "own", "--", "true")):
        ran = inside(*words)
        assert ran.status != 0
        assert (ran.out, ran.err.count(b"\n"), b"tokcap[tokenizers]" in ran.err) == (b"", 1, True)
    assert b"own" in inside("tokenizer", "list").out
