"""Known models: the size of their context window, and their tokenizer if it is published.

`[models.NAME]` in the config file adds to this table and overrides it.
"""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping


class Model(Record):
    """One model that reads output."""

    context_window: int | None = None
    # None: not published. Tokens are then counted with the default tokenizer.
    tokenizer: str | None = None

    def known(self) -> dict[str, int | str]:
        """Return what is known about it, by option key."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


# The longest entry that a name starts with decides: `gpt-4o-2024-08-06` is a `gpt-4o`.
MODELS = {
    "gpt-3.5-turbo": Model(16_385, "cl100k_base"),
    "gpt-4": Model(8_192, "cl100k_base"),
    "gpt-4-32k": Model(32_768, "cl100k_base"),
    "gpt-4-turbo": Model(128_000, "cl100k_base"),
    "gpt-4o": Model(128_000, "o200k_base"),
    "gpt-4.1": Model(1_047_576, "o200k_base"),
    "gpt-5": Model(400_000, "o200k_base"),
    "gpt-oss": Model(131_072, "o200k_base"),
    "o1": Model(200_000, "o200k_base"),
    "o3": Model(200_000, "o200k_base"),
    "o4-mini": Model(200_000, "o200k_base"),
    "claude": Model(200_000),
    "gemini": Model(1_048_576),
    "llama-3": Model(128_000),
    "mistral-large": Model(128_000),
    "deepseek": Model(128_000),
}


def find_model(name: str, own: Mapping[str, Model]) -> Model:
    """Return what is known about a model: from the user's own table first, then from `MODELS`."""
    for table in (own, MODELS):
        named = [
            known
            for known in table
            if name == known or (name.startswith(known) and name[len(known)] in "-.:@")
        ]
        if named:
            return table[max(named, key=len)]
    known = ", ".join(sorted({*own, *MODELS}))
    raise UsageError(
        f"--model: {name[:60]!r} is not a known model ({known}); add [models.NAME] to the config file"
    )
