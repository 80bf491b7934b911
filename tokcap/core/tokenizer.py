"""What a tokenizer can do, and where the tokens of a payload are. Token positions start at 0."""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Tokenizer(Protocol):
        """Counts tokens, and gives the length of each token in UTF-8 bytes."""

        name: str
        # Whether the same text has the same tokens in every process, now and later.
        stable: bool
        # Whether a safe cut is safe no matter where the text before it started.
        cuts_anywhere: bool
        # No token is longer. More bytes than this for each token of a window cannot fit into the window.
        longest_token_bytes: int

        # A text has at most this many tokens for each of its bytes. ASCII has at most one for each, unless
        # tokens are estimated.
        most_tokens_per_byte: int

        # How many tokens every text can have besides those: a tokenizer may put a blank before it.
        prefix_tokens: int

        # The beginning of the digest of its source file; empty unless the user has added it.
        digest: str

        @property
        def continued(self) -> Tokenizer | None:
            """What encodes text after a safe cut, if that gets no blank; None: the tokenizer itself."""
            ...

        # 1: whole tokens are counted. More: tokens are estimated, in parts of a token that are called units.
        units_per_token: int

        def count(self, text: str) -> int: ...

        def units(self, text: str) -> int:
            """Return the units of a text. They add up at safe cuts; `tokens_of` makes tokens of them."""
            ...

        def token_lengths(self, text: str) -> Sequence[int]:
            """Return the bytes of each token; their sum is the size of the text.

            If `most_tokens_per_byte` is 1, every token has a byte. Else a token may have none; it begins
            inside a character then. With `prefix_tokens` the first token may have none too.
            """
            ...

        def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
            """Return a position after `search_from` where text that starts at `begin` can be cut safely.

            Safe means: encoding both sides separately gives the tokens of the whole, no matter what
            follows `data`. None: there is no such position in `data`.
            """
            ...

        def find_safe_cut(self, data: bytes) -> int | None:
            """Find a safe cut by encoding, in a long stretch where `safe_cut` finds none."""
            ...

    class TokenMap(Protocol):
        """Where the tokens of one payload are."""

        @property
        def longest_token_bytes(self) -> int:
            """See `Tokenizer`."""
            ...

        @property
        def total_tokens(self) -> int:
            """The exact total. This counts everything: for a window at the start, use `reach`."""
            ...

        @property
        def total(self) -> Total: ...
        def reach(self, token: int) -> int:
            """Return `token`, or the number of tokens if there are fewer."""
            ...

        def token_at(self, byte: int) -> int:
            """Return the token that contains the byte; the number of tokens for the payload's end."""
            ...

        def position(self, byte: int) -> Total:
            """Return the same as `token_at`; an estimate if a large payload would have to be counted."""
            ...

        def positions(self, places: Sequence[int]) -> Sequence[tuple[int, bool]]:
            """Return for each byte, in order, the token that contains it, and whether it begins there.

            Everything is counted. Bytes are beginnings of characters, or the end of the payload.
            """
            ...

        def count_alone(self, data: bytes) -> int:
            """Return how many tokens a text has by itself."""
            ...

        def byte_at(self, token: int) -> int:
            """Return where a token starts, even inside a character; the payload's size past the end."""
            ...

        def starts(self, first: int, last: int) -> Sequence[int]:
            """Return the byte positions at which tokens `first` to `last` start, both included.

            Token `total_tokens` starts at the payload's end. A token that starts inside a character
            has the position -1: nothing may be cut there.
            """
            ...

        def last(self, number: int, after: int) -> LastTokens:
            """Return where the last `number` tokens start, or fewer if there are fewer.

            In a large payload the tokens between `after` and them are not counted.
            """
            ...


class WholeTokens:
    """The base of every tokenizer that counts whole tokens: a unit is a token. It has no safe cuts."""

    stable = False
    cuts_anywhere = False
    most_tokens_per_byte = 1
    units_per_token = 1
    prefix_tokens = 0
    digest = ""
    continued: Tokenizer | None = None

    if TYPE_CHECKING:

        def count(self, text: str) -> int: ...

    def units(self, text: str) -> int:
        return self.count(text)

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return None

    def find_safe_cut(self, data: bytes) -> int | None:
        return None


# The name of the tokenizer that counts bytes; it replaces one that fails.
BYTES = "bytes"


def identity_of(tokenizer: Tokenizer) -> str:
    """Return a name under which positions can be stored: another vocabulary may get the same name later."""
    return f"{tokenizer.name}-{tokenizer.digest}" if tokenizer.digest else tokenizer.name


def tokens_of(units: int, tokenizer: Tokenizer) -> int:
    """Return how many tokens these units are. A token that is not full is a token too."""
    return -(-units // tokenizer.units_per_token)


def most_tokens(data: bytes | bytearray, tokenizer: Tokenizer) -> int:
    """Return how many tokens a text can have at most, without counting them."""
    if data.isascii() and tokenizer.units_per_token == 1:
        return len(data) + tokenizer.prefix_tokens
    replaced = data.decode("utf-8", "replace").encode()
    return len(replaced) * tokenizer.most_tokens_per_byte + tokenizer.prefix_tokens


def after_cut(tokenizer: Tokenizer) -> Tokenizer:
    """Return what encodes text that follows a safe cut."""
    return tokenizer.continued or tokenizer


class Total(Record):
    """How many tokens a payload has, exactly or as an estimate."""

    tokens: int
    exact: bool = True


class LastTokens(Record):
    """Where the last tokens of a payload start, and its end; see `TokenMap.starts`."""

    # The number of the last token, plus one. It may be an estimate; then the other numbers follow from it.
    end: Total
    starts: Sequence[int]
