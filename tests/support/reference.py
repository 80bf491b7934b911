"""tiktoken's own encodings, made by tiktoken from the embedded tables. Counts must equal theirs."""

from __future__ import annotations

import functools

import pytest
import tiktoken
import tiktoken_ext.openai_public

from tokcap.tokens import embedded
from tokcap.tokens.bpe import BytePairTokenizer, TiktokenEngine
from tokcap.tokens.pre_splits import PRE_SPLITS

ENCODINGS = ("cl100k_base", "o200k_base")
_references: dict[str, tiktoken.Encoding] = {}


def reference(name: str) -> tiktoken.Encoding:
    """Return tiktoken's own encoding, built by tiktoken's code from the embedded table."""
    if name not in _references:
        with pytest.MonkeyPatch.context() as patch:
            ranks = embedded.ranks(name)
            patch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_args, **_named: ranks)
            _references[name] = tiktoken.Encoding(**getattr(tiktoken_ext.openai_public, name)())
    return _references[name]


@functools.cache
def gpt2_like() -> tiktoken.Encoding:
    """The pre-split of the GPT-2 family with a part of an embedded table: its own table is not embedded."""
    first = {token: rank for token, rank in embedded.ranks("cl100k_base").items() if rank < 20_000}
    return tiktoken.Encoding(
        "gpt2",
        pat_str=tiktoken_ext.openai_public.r50k_pat_str,
        mergeable_ranks=first,
        special_tokens={},
    )


@functools.cache
def gpt2_tokenizer() -> BytePairTokenizer:
    """The same as a tokenizer of tokcap."""
    return BytePairTokenizer("gpt2", TiktokenEngine(gpt2_like()), 128, PRE_SPLITS["gpt2"])


def recount(data: bytes, name: str = "cl100k_base") -> int:
    """Return how many tokens tiktoken counts. Do not pass long runs of blanks, on which it fails."""
    return len(reference(name).encode_ordinary(data.decode("utf-8", "replace")))
