"""Long runs without a cut that can be seen: counted in bounded memory, cut in their middle, always exact."""

import random
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, recount, reference
from tests.support.tiers import examples, some_everyday
from tokcap.core.payload import TextPayload
from tokcap.tokens import chunks, index, tail
from tokcap.tokens.index import Index

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABETS = {
    "one emoji": "👍",
    "emoji": "👍🎉😀🚀👩",
    "one letter": "a",
    "letters": LETTERS,
    "both cases": LETTERS + LETTERS.upper(),
    "ideographs": "中文字符汉语日本国人大小上下",
    "thai": "สวัสดีครับผม",
    "letters and marks": "e\u0301a\u0300o\u0308",
    "digits": "0123456789",
    "blanks": " ",
    "newlines": "\n",
    "blanks and newlines": " \n",
    "signs": "-=*#/",
    "apostrophes": "'sl",
    "control characters": "\x01\x02\x1b",
    "replacement characters": "\ufffd",
    "letters and ideographs": "a中A文",
    "ideographs and capitals of one token": "无码亚洲",
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
@example(text="a" + "无码" * 2500 + "AVb 无码AVb", size=700)
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


@pytest.mark.parametrize("name", ENCODINGS)
@examples(12)
@given(parts=st.lists(TEXTS, min_size=1, max_size=4), junk=st.binary(max_size=6), number=st.integers(1, 60))
def test_the_last_tokens_are_those_of_the_whole(name, parts, junk, number):
    data = junk.join(part.encode() for part in parts)
    tokenizer = TOKENIZERS[name]
    whole = Index(TextPayload(data), tokenizer)
    total = whole.total_tokens
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "EXACT_TAIL_BYTES", 2000)
        patch.setattr(tail, "FIRST_BYTES", 1500)
        patch.setattr(tail, "LOOK_BYTES", 6000)
        last = Index(TextPayload(data), tokenizer).last(number, 0)
    assert list(last.starts) == list(whole.starts(max(total - number, 0), total))
    assert last.end.exact is False or last.end.tokens == total


def test_a_window_at_the_end_of_much_text_calls_its_numbers_estimates(inside, monkeypatch):
    monkeypatch.setattr(index, "EXACT_TAIL_BYTES", 1 << 18)
    data = "".join(f"line {number}\n" for number in range(40_000)).encode()
    assert len(data) > index.EXACT_TAIL_BYTES
    total = recount(data)
    for keep in ("tail", "ends"):
        ran = inside("-n", "100", "--keep", keep, stdin=data)
        assert re.search(rb"\[TRUNCATED\] \d\d of about (1[5-9]|2[0-4])\dk tokens; ", ran.out)
        assert ran.out.endswith(data[-40:])
        meta = inside("-n", "250", "--keep", keep, "-o", "json", "--exact-total", stdin=data).json["meta"]
        assert meta["total_tokens"] == total
        assert f"/{total} tokens; " in meta["truncation_hint"]
