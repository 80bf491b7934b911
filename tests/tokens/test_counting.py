"""Counts equal those of tiktoken: for any text, in any chunking, at any length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import LONG_RUNS
from tests.support.tiers import as_nightly, times
from tokcap.tokens import bpe, open_tokenizer

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
