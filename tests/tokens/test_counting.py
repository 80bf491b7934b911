"""Counts equal those of tiktoken: for any text, in any chunking, at any length."""

import random
import sysconfig
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, gpt2_like, reference
from tests.support.texts import AWKWARD, LONG_RUNS
from tests.support.tiers import as_nightly, examples, nightly, some_everyday, times
from tokcap.tokens import bpe, chunks, count_bytes, open_tokenizer


@pytest.mark.parametrize("name", ENCODINGS)
@examples(60)
@given(text=AWKWARD)
@example(text="<|endoftext|><|fim_prefix|>")
def test_any_text_counts_as_tiktoken_counts_it(name, text):
    tokens = reference(name).encode_ordinary(text)
    tokenizer = TOKENIZERS[name]
    assert tokenizer.count(text) == len(tokens)
    assert list(tokenizer.token_lengths(text)) == list(map(len, reference(name).decode_tokens_bytes(tokens)))


@pytest.mark.parametrize("name", ENCODINGS)
@examples(60)
@given(text=AWKWARD)
def test_every_safe_cut_is_safe(name, text):
    data = text.encode()
    whole = reference(name).encode_ordinary(text)
    for match in chunks.SafeCuts(name).pattern.finditer(data):
        left, right = data[: match.end()].decode(), data[match.end() :].decode()
        apart = reference(name).encode_ordinary(left) + reference(name).encode_ordinary(right)
        assert apart == whole, (left, right)


def test_a_slash_after_a_newline_is_not_a_safe_cut():
    certain = chunks.SafeCuts("o200k_base").pattern
    assert certain.search(b"--\n/usr") is None
    assert certain.search(b"--\n-usr").end() == 3


BLANKS = [
    chr(n) for n in (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
]


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_no_line_start_is_safe_before_a_blank_of_any_kind(blank):
    assert chunks.SafeCuts("cl100k_base").pattern.search(b"-\n" + blank.encode() + b"-") is None


@examples(40)
@given(text=AWKWARD)
def test_every_safe_cut_of_the_gpt2_family_is_safe(text):
    data = text.encode()
    encoding = gpt2_like()
    whole = encoding.encode_ordinary(text)
    for match in chunks.SafeCuts("gpt2").pattern.finditer(data):
        left, right = data[: match.end()].decode(), data[match.end() :].decode()
        assert encoding.encode_ordinary(left) + encoding.encode_ordinary(right) == whole, (left, right)


def test_the_start_of_a_line_is_not_safe_in_the_gpt2_family():
    whole = gpt2_like().encode_ordinary("a\n\n-")
    apart = gpt2_like().encode_ordinary("a\n\n") + gpt2_like().encode_ordinary("-")
    assert whole != apart
    assert chunks.SafeCuts("gpt2").pattern.search(b"-\n-") is None


def test_an_unknown_encoding_has_no_safe_cuts():
    assert chunks.SafeCuts("somebodys_own").pattern is None


@pytest.mark.parametrize("name", [*ENCODINGS, "approx"])
@examples(40)
@given(text=AWKWARD, junk=st.binary(max_size=6), sizes=st.lists(st.integers(1, 7), min_size=1))
def test_the_count_is_the_same_for_every_chunking_of_the_input(name, text, junk, sizes):
    data = text.encode() + junk + text.encode()
    tokenizer = open_tokenizer(name) if name == "approx" else TOKENIZERS[name]
    blocks, at, turn = [], 0, 0
    while at < len(data):
        blocks.append(data[at : at + sizes[turn % len(sizes)]])
        at += len(blocks[-1])
        turn += 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 4)
        pieces = list(chunks.split(blocks, tokenizer))
    assert b"".join(pieces) == data
    text_seen = data.decode("utf-8", "replace")
    assert sum(tokenizer.count(chunks.as_text(piece)) for piece in pieces) == tokenizer.count(text_seen)


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_standard_library_counts_as_tiktoken_counts_it(name):
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    assert len(sources) > 100
    for source in sources if times() > 1 else sources[ENCODINGS.index(name) :: 20]:
        data = source.read_bytes()
        expected = len(reference(name).encode_ordinary(data.decode("utf-8", "replace")))
        assert count_bytes(data, TOKENIZERS[name]) == expected, source


# One of each kind: letters, characters of several bytes, and blanks, which tiktoken's own engine gives up on.
EVERYDAY_RUNS = ("letters", "ideographs", "contractions", "blanks and a letter")


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("run", [run if run in EVERYDAY_RUNS else as_nightly(run) for run in LONG_RUNS])
def test_a_long_run_without_safe_cuts_has_the_same_tokens(name, run, monkeypatch):
    text = LONG_RUNS[run] if times() > 1 else LONG_RUNS[run][-60_000:]
    monkeypatch.setattr(bpe, "PLAIN_CHARACTERS", 1 << 14)
    # tiktoken's other way, which splits with `regex`, accepts long runs of blanks.
    expected = reference(name)._encode_only_native_bpe(text)
    assert list(TOKENIZERS[name].byte_pair.encode(text)) == expected
    if "blank" not in run and "tab" not in run and "newline" not in run:
        assert reference(name).encode_ordinary(text) == expected


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("alphabet", ["ab", "abc", "aàb", "=-", "=-*", "th", "漢字", "\0\1", "Ab"])
def test_a_piece_merged_in_parts_has_the_tokens_of_the_whole(name, alphabet):
    dice = random.Random(alphabet)
    piece = "".join(dice.choices(alphabet, k=20_000)).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bpe, "PART_BYTES", 256)
        # Keep the last tokens of a part, so that seams have to move.
        patch.setattr(bpe, "UNSURE_TOKENS", 1)
        in_parts = TOKENIZERS[name].byte_pair._merge_in_parts(piece)
    assert list(in_parts) == reference(name)._encode_single_piece(piece)


def test_a_seam_that_never_joins_falls_back_to_the_whole_piece(monkeypatch):
    tokenizer = TOKENIZERS["cl100k_base"]
    monkeypatch.setattr(bpe, "PART_BYTES", 64)
    monkeypatch.setattr(bpe, "UNSURE_TOKENS", 4)
    monkeypatch.setattr(bpe.BytePairTokenizer, "_joins", lambda _self, left, _right: not left)
    piece = b"ab" * 200
    assert list(tokenizer.byte_pair._merge_in_parts(piece)) == reference("cl100k_base")._encode_single_piece(
        piece
    )


@nightly
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_code_point_counts_as_tiktoken_counts_it(name):
    # After the second plane there are ideographs, private use, or nothing: a sample is enough.
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 0x101)]
    # In blocks: a cut that some character makes unsafe would change the count of a block.
    for start in range(0, len(points), 0x400):
        text = "".join(f"a{chr(n)}b {chr(n)}\n{chr(n)}1" for n in points[start : start + 0x400])
        expected = len(reference(name).encode_ordinary(text))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunks, "CHUNK_BYTES", 256)
            assert count_bytes(text.encode(), TOKENIZERS[name]) == expected, hex(points[start])


@given(text=st.text(max_size=200))
def test_approx_is_characters_by_four_rounded_up(text):
    tokenizer = open_tokenizer("approx")
    assert tokenizer.count(text) == -(-len(text) // 4)
    lengths = tokenizer.token_lengths(text)
    assert len(lengths) == tokenizer.count(text)
    assert sum(lengths) == len(text.encode())


PARTS = st.sampled_from(
    [
        "\x00",
        " ",
        "a",
        "A",
        "=",
        "-",
        "\n",
        "\t",
        "0",
        "'",
        "/",
        "é",
        "中",
        "中文字",
        "word ",
        "x1",
        "'s",
        "\r\n",
    ]
)


@pytest.mark.parametrize("name", ENCODINGS)
@examples(15)
@given(runs=st.lists(st.tuples(PARTS, st.integers(1, 6000)), min_size=1, max_size=6))
def test_a_safe_cut_found_by_encoding_changes_no_count(name, runs):
    """Long stretches without a safe cut, with small constants so that they occur often."""
    text = "".join(part * number for part, number in runs)[:20_000].encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "LONG_STRETCH_BYTES", 1500)
        patch.setattr(chunks, "CHUNK_BYTES", 500)
        tokenizer = TOKENIZERS[name]
        pieces = list(chunks.split([text[at : at + 700] for at in range(0, len(text), 700)], tokenizer))
        assert b"".join(pieces) == text
        apart = [tokenizer.byte_pair.encode(piece.decode("utf-8", "replace")) for piece in pieces]
    whole = tokenizer.byte_pair.encode(text.decode())
    assert [token for tokens in apart for token in tokens] == list(whole)


@pytest.mark.parametrize("character", some_everyday([b"a", b"\x00", b" ", b"=", b"\n"], 2))
def test_a_long_run_of_one_character_is_counted_in_parts(character):
    pieces = list(chunks.split([character * (1 << 20)] * 3, TOKENIZERS["cl100k_base"]))
    assert b"".join(pieces) == character * (3 << 20)
    assert max(map(len, pieces)) <= 2 * chunks.LONG_STRETCH_BYTES
