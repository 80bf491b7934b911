"""The interface of a tokenizer family. The interface of a tokenizer is `core.tokenizer.Tokenizer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment


class TokenizerFamily(Protocol):
    """A kind of tokenizer that can be opened by name. To add one, see `tokens.FAMILIES`."""

    # Names that work on every machine, for completions and the manifest. A family may have other names too.
    names: tuple[str, ...]

    def open(self, name: str, env: Environment | None = None) -> Tokenizer | None:
        """Return the tokenizer of this name; None if the name does not belong to this family.

        `env` has the data directory of the call; None: that of this process.

        Raise `TokenizerUnavailable` if the name belongs here but the tokenizer cannot be loaded.
        """
        ...

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        """Check a name without loading a vocabulary, which may need the network.

        Return what the user should know about the name, empty if nothing; None if it does not belong here.
        """
        ...
