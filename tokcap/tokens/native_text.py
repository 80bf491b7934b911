"""The tokens of small texts by compiled code, without loading tiktoken.

The same as `small_text.SmallTextEncoder`, which a package uses that was built without a compiler.
"""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.buckets import mapped
from tokcap.tokens.embedded import ALLOWANCE, DIRECTORY, remember

if TYPE_CHECKING:
    from mmap import mmap
    from types import ModuleType

# What counting costs, in the nanoseconds of `ALLOWANCE`.
PER_BYTE = 40


class NativeEncoder:
    """One embedded encoding. It opens its file at the first text."""

    def __init__(self, name: str, native: ModuleType) -> None:
        self._name = name
        self._native = native
        self._work = 0
        self._table: mmap | None = None
        # The lengths of the last texts.
        self._recent: dict[str, bytes] = {}

    def token_lengths(self, text: str) -> bytes | None:
        """Return the bytes of each token, as a sequence of numbers; None: ask tiktoken."""
        known = self._recent.get(text)
        if known is not None:
            return known
        self._work += PER_BYTE * len(text)
        if self._work > ALLOWANCE[self._name]:
            return None
        try:
            data = text.encode()
            classes: bytes | None = data
            if len(data) != len(text):
                classes = self._native.sign_classes(data) or classes_of(text)
            if self._table is None:
                self._table = mapped(os.path.join(DIRECTORY, f"{self._name}.buckets"))
            if classes is None:
                return None
            lengths: bytes | None = self._native.token_lengths(self._table, self._name, classes, data)
        except (OSError, ValueError):
            # Without its file, or with a damaged one, counting is slower but still exact.
            return None
        if lengths is not None:
            remember(self._recent, text, lengths)
        return lengths


def native_encoder(name: str) -> NativeEncoder | None:
    """Return the compiled encoder of an embedded encoding; None if the package has none."""
    try:
        from tokcap.tokens import _native
    except ImportError:
        return None
    return NativeEncoder(name, _native)


def classes_of(text: str) -> bytes | None:
    """Return the class of each character (see `character_classes`), which few texts need."""
    from tokcap.tokens import character_classes

    return character_classes.classes_of(text)
