"""Counts equal those of tiktoken: for any text, in any chunking, at any length."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, gpt2_like, reference
from tests.support.texts import AWKWARD, LONG_RUNS
from tests.support.tiers import as_nightly, examples, times
from tokcap.tokens import bpe, chunks, open_tokenizer
from tokcap.tokens.pre_splits import PRE_SPLITS


def safe_cuts(pre_split: str, data: bytes) -> list[int]:
    """Return all safe cuts that can be seen."""
    cuts, found = chunks.SafeCuts(PRE_SPLITS[pre_split].cuts), []
    while (cut := cuts.first_after(data, found[-1] if found else 0)) is not None:
        found.append(cut)
    return found


OF_TIKTOKEN = {**{name: functools.partial(reference, name) for name in ENCODINGS}, "gpt2": gpt2_like}


@pytest.mark.parametrize("name", OF_TIKTOKEN)
@examples(60)
@given(text=AWKWARD)
def test_every_safe_cut_is_safe(name, text):
    encode, data = OF_TIKTOKEN[name]().encode_ordinary, text.encode()
    whole = encode(text)
    for cut in safe_cuts(name, data):
        left, right = data[:cut].decode(), data[cut:].decode()
        assert encode(left) + encode(right) == whole, (left, right)


def test_the_start_of_a_line_is_not_safe_in_the_gpt2_family():
    whole = gpt2_like().encode_ordinary("a\n\n-")
    apart = gpt2_like().encode_ordinary("a\n\n") + gpt2_like().encode_ordinary("-")
    assert whole != apart
    assert safe_cuts("gpt2", b"-\n-") == []


# One of each kind: letters, characters of several bytes, and blanks, which tiktoken's own engine gives up on.
EVERYDAY_RUNS = ("letters", "ideographs", "contractions", "blanks and a letter")


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("run", [run if run in EVERYDAY_RUNS else as_nightly(run) for run in LONG_RUNS])
def test_a_long_run_without_safe_cuts_has_the_same_tokens(name, run, monkeypatch):
    text = LONG_RUNS[run] if times() > 1 else LONG_RUNS[run][-60_000:]
    monkeypatch.setattr(bpe.TiktokenEngine, "most_characters", 1 << 14)
    # tiktoken's other way, which splits with `regex`, accepts long runs of blanks.
    expected = reference(name)._encode_only_native_bpe(text)
    assert list(TOKENIZERS[name].byte_pair.encode(text)) == expected
    if "blank" not in run and "tab" not in run and "newline" not in run:
        assert reference(name).encode_ordinary(text) == expected


@given(text=st.text(max_size=200))
def test_approx_is_characters_by_four_rounded_up(text):
    tokenizer = open_tokenizer("approx")
    assert tokenizer.count(text) == -(-len(text) // 4)
