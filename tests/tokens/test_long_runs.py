"""Long runs without a cut that can be seen: counted in bounded memory, cut in their middle, always exact."""

import random
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, gpt2_like, recount, reference
from tests.support.tiers import examples, some_everyday
from tokcap.core.spool import in_memory
from tokcap.steps.live import RunningCount
from tokcap.tokens import chunks, index, parallel, tail
from tokcap.tokens.bpe import BytePairTokenizer
from tokcap.tokens.checkpoints import Checkpoints
from tokcap.tokens.index import Index
from tokcap.tokens.piece_cuts import PieceCuts

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = {
    "one emoji": "👍",
    "emoji": "👍🎉😀🚀👩",
    "emoji and joiners": "👩\u200d👧",
    "emoji with variation selectors": "❤\ufe0f✔\ufe0f",
    "flags": "🇩🇪🇫🇷",
    "one letter": "a",
    "two letters": "ab",
    "letters": LETTERS,
    "capitals": LETTERS.upper(),
    "both cases": LETTERS + LETTERS.upper(),
    "ideographs": "中文字符汉语日本国人大小上下",
    "kana": "あいうえおかきくけこ",
    "thai": "สวัสดีครับผม",
    "arabic": "ابتثجحخدذرز",
    "letters and marks": "e\u0301a\u0300o\u0308",
    "marks": "\u0301\u0300",
    "digits": "0123456789",
    "digits of other scripts": "٠١٢٣",
    "blanks": " ",
    "tabs and blanks": "\t ",
    "newlines": "\n",
    "line ends": "\r\n",
    "blanks and newlines": " \n",
    "dashes": "-",
    "signs": "-=*#/",
    "apostrophes": "'sl",
    "nul bytes": "\0",
    "control characters": "\x01\x02\x1b",
    "replacement characters": "\ufffd",
    "letters and ideographs": "a中A文",
    "ideographs and capitals of one token": "无码亚洲",
    "signs and letters": "-a",
}


def run_of(alphabet: str, size: int, seed: int = 0) -> str:
    return "".join(random.Random(seed).choices(alphabet, k=size))


def encoded(name: str, text: str) -> list[int]:
    # tiktoken's own engine gives up on long blanks; this way splits with `regex`.
    return reference(name)._encode_only_native_bpe(text)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("kind", some_everyday(ALPHABETS, 11))
def test_a_long_run_is_divided_and_keeps_its_tokens(name, kind):
    text = run_of(ALPHABETS[kind], 20_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "LONG_STRETCH_BYTES", 8_000)
        parts = list(chunks.split([text.encode()], TOKENIZERS[name]))
    assert "".join(part.decode() for part in parts) == text
    assert [token for part in parts for token in encoded(name, part.decode())] == encoded(name, text)
    assert max(map(len, parts)) <= 32_000


# What ends the piece, and what goes on in it. In o200k_base `无码AV` is a token.
AFTER_LETTERS = [
    "",
    "Ab",
    "AV",
    "A",
    "A中",
    "'s",
    "'S中",
    "'",
    "'r",
    " b",
    "-a",
    "1",
    "\n",
    "ǅa",
    "\ufffd",
    "aA",
]


BEGINNINGS = ("a", "", "A", "Aa", "-a", "中a", "x a", "\u0301a", "'sa", "ʰ", "ǅ")
LETTERS_WITHOUT_CASE = (ALPHABETS["ideographs"], "文", "中\u0301กʰª", "无码")


@pytest.mark.parametrize("begin", some_everyday(BEGINNINGS, 3))
def test_letters_without_case_keep_the_tokens_of_what_is_around_them(begin):
    name, size = "o200k_base", 900
    for number, after in enumerate(AFTER_LETTERS):
        alphabet = LETTERS_WITHOUT_CASE[number % 4]
        text = begin + run_of(alphabet, 4_000 + 7 * number, number) + "无码" + after
        text += run_of(alphabet, 1_500, number) + after + "无码AVb " * (number % 3)
        data = text.encode()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(chunks, "LONG_STRETCH_BYTES", 4_000)
            blocks = [data[at : at + size] for at in range(0, len(data), size)]
            parts = list(chunks.split(blocks, TOKENIZERS[name]))
        assert b"".join(parts) == data
        assert [token for part in parts for token in encoded(name, part.decode())] == encoded(name, text)
        assert max(map(len, parts)) <= 8_000


def test_a_second_process_continues_inside_a_piece(monkeypatch):
    monkeypatch.setattr(chunks, "LONG_STRETCH_BYTES", 1 << 14)
    text = "a" + run_of(ALPHABETS["ideographs"], 30_000) + "无码AVb 无码AVb"
    payload, tokenizer = in_memory(text.encode()), TOKENIZERS["o200k_base"]
    expected = encoded("o200k_base", text)
    last = Index(payload, tokenizer).starts(len(expected) - 9, len(expected))
    for tokens in (0, 9_000, len(expected) - 5):
        first = Index(payload, tokenizer)
        first.reach(tokens)
        known = Checkpoints.unpacked(first.checkpoints.packed(payload.size), payload.size)
        second = Index(payload, tokenizer, known)
        assert second.total_tokens == len(expected)
        assert second.starts(len(expected) - 9, len(expected)) == last


@pytest.mark.parametrize("after", some_everyday(AFTER_LETTERS, 4))
def test_a_running_count_is_exact_inside_a_piece(after):
    # Longer than `LONG_STRETCH_BYTES`, before and after the end of the piece.
    text = "a" + run_of(ALPHABETS["ideographs"], 60_000) + "无码" + after
    count = RunningCount(TOKENIZERS["o200k_base"])
    for at in range(0, len(text), 10_000):
        count.add(text[at : at + 10_000].encode())
        count.count(1 << 60)
    assert count.total() == len(encoded("o200k_base", text))
    count.add(("中" * 60_000 + "Ab").encode())
    count.count(1 << 60)
    assert count.total() == len(encoded("o200k_base", text + "中" * 60_000 + "Ab"))


PARTS = st.one_of(
    st.tuples(st.sampled_from(sorted(ALPHABETS.values())), st.integers(1, 4000)),
    st.tuples(
        st.sampled_from(["a", "A", "中", " ", "\n", "'", "'s", "-", "/", "1", "x y", "\u0301"]),
        st.integers(1, 3),
    ),
)
TEXTS = st.builds(
    lambda parts, seed: "".join(run_of(part, size, seed) for part, size in parts),
    st.lists(PARTS, min_size=1, max_size=6),
    st.integers(0, 1 << 16),
)


@pytest.mark.parametrize("name", ENCODINGS)
@examples(15)
@given(text=TEXTS, size=st.integers(100, 5000))
@example(text="\n" + " " * 5000 + "\nx", size=700)
@example(text="\n" + " " * 5000 + "x", size=700)
@example(text="a" + "中" * 5000 + "Ab", size=700)
@example(text="中" + "A" * 5000 + "b", size=700)
def test_runs_one_after_the_other_keep_their_tokens(name, text, size):
    data = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "LONG_STRETCH_BYTES", 1500)
        patch.setattr(chunks, "CHUNK_BYTES", 500)
        parts = list(
            chunks.split([data[at : at + size] for at in range(0, len(data), size)], TOKENIZERS[name])
        )
    assert b"".join(parts) == data
    assert [token for part in parts for token in encoded(name, part.decode())] == encoded(name, text)


@pytest.mark.parametrize("name", ENCODINGS)
@examples(15)
@given(before=TEXTS, text=TEXTS, after=TEXTS, is_end=st.booleans())
@example(before="a", text="中" * 3000, after="Ab", is_end=False)
@example(before="'", text="s" * 3000, after="", is_end=True)
def test_a_cut_in_the_middle_does_not_depend_on_what_is_before(name, before, text, after, is_end):
    cut = TOKENIZERS[name].cut_in_middle(text.encode(), is_end=is_end)
    if cut is None:
        return
    after = "" if is_end else after
    whole = encoded(name, before + text + after)
    right = encoded(name, text.encode()[cut:].decode() + after)
    assert whole[len(whole) - len(right) :] == right


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "kind", ["letters", "both cases", "emoji", "ideographs", "kana", "thai", "signs", "letters and marks"]
)
def test_a_run_of_many_characters_has_a_cut_in_its_middle(name, kind):
    assert TOKENIZERS[name].cut_in_middle(run_of(ALPHABETS[kind], 20_000).encode(), is_end=True)


def test_bytes_that_are_not_utf8_are_divided_too(monkeypatch):
    monkeypatch.setattr(chunks, "LONG_STRETCH_BYTES", 1 << 14)
    data = random.Random(5).randbytes(10_000) + b"\xff" * 60_000 + b"\x80" * 60_000
    parts = list(chunks.split([data], TOKENIZERS["cl100k_base"]))
    assert b"".join(parts) == data
    assert max(map(len, parts)) <= 2 * chunks.LONG_STRETCH_BYTES
    texts = [part.decode("utf-8", "replace") for part in parts]
    assert "".join(texts) == data.decode("utf-8", "replace")
    apart = [token for text in texts for token in encoded("cl100k_base", text)]
    assert apart == encoded("cl100k_base", "".join(texts))


def test_a_vocabulary_in_which_nothing_settles_is_not_cut():
    # Merging from the right: the last byte decides where every token begins.
    cuts = PieceCuts(
        lambda piece: [2 - len(piece) % 2] + [2] * ((len(piece) - 1) // 2), lambda token: token, 2
    )
    assert not cuts.settled(b"a" * 1000)
    assert not cuts.common(b"a" * 5000)


@pytest.mark.parametrize("name", ENCODINGS)
@examples(12)
@given(parts=st.lists(TEXTS, min_size=1, max_size=4), junk=st.binary(max_size=6), number=st.integers(1, 60))
def test_the_last_tokens_are_those_of_the_whole(name, parts, junk, number):
    data = junk.join(part.encode() for part in parts)
    tokenizer = TOKENIZERS[name]
    whole = Index(in_memory(data), tokenizer)
    total = whole.total_tokens
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "EXACT_TAIL_BYTES", 2000)
        patch.setattr(tail, "FIRST_BYTES", 1500)
        patch.setattr(tail, "LOOK_BYTES", 6000)
        last = Index(in_memory(data), tokenizer).last(number, 0)
    assert list(last.starts) == list(whole.starts(max(total - number, 0), total))
    assert last.end.exact is False or last.end.tokens == total


def test_a_run_of_digits_is_cut_in_groups_from_its_beginning():
    data = b"ab" + b"0123456789" * 1_000_000
    last = Index(in_memory(data), TOKENIZERS["cl100k_base"]).last(5, 0)
    assert not last.end.exact
    assert [len(data) - start for start in last.starts] == [13, 10, 7, 4, 1, 0]


def test_a_window_at_the_end_of_much_text_calls_its_numbers_estimates(inside, monkeypatch):
    monkeypatch.setattr(index, "EXACT_TAIL_BYTES", 1 << 18)
    data = "".join(f"line {number}\n" for number in range(40_000)).encode()
    assert len(data) > index.EXACT_TAIL_BYTES
    total = recount(data)
    for keep in ("tail", "ends"):
        ran = inside("-n", "100", "--keep", keep, stdin=data)
        assert re.search(rb"\[TRUNCATED\] \d\d of about (1[5-9]|2[0-4])\dk tokens; ", ran.out)
        assert ran.out.endswith(data[-40:])
        meta = inside("-n", "100", "--keep", keep, "-o", "json", "--exact-total", stdin=data).json["meta"]
        assert meta["total_tokens"] == total
        assert f"/{total} tokens; " in meta["truncation_hint"]


@pytest.mark.parametrize("name", ENCODINGS)
@examples(20)
@given(text=TEXTS, search_from=st.integers(0, 500))
def test_a_cut_far_away_is_found_as_one_nearby(name, text, search_from):
    data = text.encode()
    cuts = chunks.SafeCuts(name)
    match = cuts.pattern.search(data, search_from)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "NEAR_BYTES", 64)
        assert cuts.first_after(data, search_from) == (match and match.end())


@pytest.mark.parametrize("name", ENCODINGS)
@examples(15)
@given(before=TEXTS, text=TEXTS, after=TEXTS)
@example(before="", text="\0" * 5 + run_of(ALPHABETS["digits of other scripts"], 518), after="")
@example(before="", text="-" + run_of(ALPHABETS["digits"], 2000), after="")
@example(before="无码AV", text=run_of(ALPHABETS["capitals"], 3000), after="b")
def test_both_sides_of_a_cut_between_two_processes_keep_their_tokens(name, before, text, after):
    cut = parallel.cut_inside_run(text.encode(), TOKENIZERS[name])
    if cut is None:
        return
    left, right = before + text.encode()[:cut].decode(), text.encode()[cut:].decode() + after
    assert encoded(name, left) + encoded(name, right) == encoded(name, before + text + after)


@pytest.mark.parametrize("name", ENCODINGS)
def test_one_run_of_many_megabytes_is_divided_between_processes(name, monkeypatch):
    monkeypatch.setattr(parallel, "available_cores", lambda: 4)
    # The threads of the test runner would forbid it.
    monkeypatch.setattr(parallel, "may_fork", lambda: True)
    payload = in_memory(run_of(ALPHABETS["letters"], 400_000).encode())
    assert len(parallel.parts_of(payload, TOKENIZERS[name], (0, payload.size), 100_000)) == 4


@examples(15)
@given(before=TEXTS, text=TEXTS, after=TEXTS)
def test_encodings_that_tiktoken_loads_have_the_same_laws(before, text, after):
    tokenizer = BytePairTokenizer("gpt2", gpt2_like(), 128)
    encode = gpt2_like()._encode_only_native_bpe
    whole = encode(before + text + after)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "LONG_STRETCH_BYTES", 1500)
        parts = list(chunks.split([(before + text + after).encode()], tokenizer))
    assert [token for part in parts for token in encode(part.decode())] == whole
    if cut := tokenizer.cut_in_middle(text.encode(), is_end=False):
        right = encode(text.encode()[cut:].decode() + after)
        assert whole[len(whole) - len(right) :] == right
