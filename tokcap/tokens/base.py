"""The interfaces of a tokenizer family and of an index. Tokenizers themselves: `core.tokenizer.Tokenizer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tokcap.core.tokenizer import Tokenizer, TokenMap
    from tokcap.environment import Environment
    from tokcap.tokens.index import Checkpoints

    class PayloadIndex(TokenMap, Protocol):
        """Where the tokens of one payload are, with what later calls can use of it."""

        # The name of the tokenizer, and the name under which positions are stored.
        @property
        def tokenizer(self) -> str: ...
        @property
        def identity(self) -> str: ...

        @property
        def checkpoints(self) -> Checkpoints: ...

        @property
        def valid_utf8(self) -> bool:
            """Whether all that was counted is UTF-8."""
            ...

        @property
        def storable(self) -> bool:
            """Whether the checkpoints are valid in other processes, and are more than were given."""
            ...

        def count_all(self) -> None: ...

        def packed(self, size: int) -> bytes:
            """Return the checkpoints as a file, for a payload that has `size` bytes in the store."""
            ...


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
