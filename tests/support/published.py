"""Published vocabularies of models, compiled once for all tests; and the package `tokenizers`, the reference.

`.ci/vocabularies` fetches them. Only nightly tests use them, because each takes hundreds of megabytes. Where
they or the package are missing, these tests are skipped.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.program import PACKAGE
from tests.support.tiers import nightly
from tokcap.environment import Environment
from tokcap.errors import TokcapError
from tokcap.tokens import adding, open_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

VARIABLE = "TOKCAP_TESTS_VOCABULARIES"
PLACE = os.environ.get(VARIABLE, "")
# `gpt2` is an encoding of tiktoken.
NAMES = ("deepseek_v3", "gemma3", "gpt_2", "llama2", "llama3", "mistral_nemo", "qwen3")
# The contract suite takes long, so it gets one that normalizes, one that splits several times, one whose
# tokens are characters, and one that puts a blank before every text.
IN_CONTRACT = ("deepseek_v3", "gemma3", "llama2", "qwen3")

needed = pytest.mark.skipif(not PLACE, reason=f"{VARIABLE} does not name a directory of .ci/vocabularies")
every_name = pytest.mark.parametrize("name", [pytest.param(name, marks=[needed, nightly]) for name in NAMES])


def source_of(name: str) -> Path:
    return Path(PLACE, {"gpt_2": "gpt2.json"}.get(name, f"{name}.json"))


@functools.cache
def data_dir(name: str) -> str:
    """Return a data directory that has a vocabulary. It stays, until the code that compiles it changes."""
    digest = hashlib.sha256(sys.version.encode())
    for module in sorted((PACKAGE / "tokens").rglob("*.py")):
        digest.update(module.read_bytes())
    place = os.path.join(PLACE, f"compiled-{digest.hexdigest()[:16]}")
    env = Environment({"TOKCAP_DATA_DIR": place})
    if name not in adding.added.names(env):
        try:
            adding.add(name, str(source_of(name)), env)
        except (TokcapError, OSError):
            # Another process of the same test run was faster.
            assert name in adding.added.names(env)
    return place


def opened(name: str):
    return open_tokenizer(name, Environment({"TOKCAP_DATA_DIR": data_dir(name)}))


def reference_from(model: dict) -> Tokenizer:
    """Return the tokenizer of the package. The text of an added token is plain text."""
    tokenizers = pytest.importorskip(
        "tokenizers", reason="the package tokenizers is not installed: pip install '.[nightly]'"
    )
    return tokenizers.Tokenizer.from_str(json.dumps({**model, "added_tokens": [], "post_processor": None}))


@functools.cache
def reference(name: str) -> Tokenizer:
    return reference_from(json.loads(source_of(name).read_bytes()))


BYTE_NAMES = {f"<0x{byte:02X}>" for byte in range(0x100)}


def lengths_by(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the bytes of each token.

    Every character of a written token stands for one byte, or for itself, and `▁` for a blank. The first
    token may have a blank that is not in the text.
    """
    tokens = tokenizer.encode(text, add_special_tokens=False).tokens
    if not hasattr(tokenizer.model, "byte_fallback") or not tokenizer.model.byte_fallback:
        return list(map(len, tokens))
    return [1 if token in BYTE_NAMES else len(token.replace("\u2581", " ").encode()) for token in tokens]
