"""Byte-pair tokenizers: an engine of another package, made safe for texts of any length.

An engine gets short texts only. On a long text without a safe cut the regular expressions of both packages
can give up (a million blanks). Such a text is split into pieces here, and the tokens are the same.
"""

from __future__ import annotations

from array import array
from functools import cached_property

from tokcap.errors import TokenizerFailed
from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens.chunks import CutTokenizer, as_text
from tokcap.tokens.replacement import in_source, whole_characters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Protocol

    import tiktoken

    from tokcap.tokens.long_runs import LongRuns
    from tokcap.tokens.pre_splits import PreSplit

    class Engine(Protocol):
        """What encodes short texts."""

        # The longest text that it gets.
        most_characters: int
        # The bytes of each token.
        lengths: Sequence[int]
        # Whether merging starts with characters, and with the bytes of those that are not tokens.
        of_characters: bool

        def encode(self, text: str) -> Sequence[int]: ...

        def merge(self, piece: bytes) -> list[int]:
            """Return the tokens of one piece of the pre-split, or of a part of it.

            Raise `UnicodeDecodeError` if the engine knows only text, and the piece is none.
            """
            ...


# If a run of this size has no cut that is found by encoding, a longer one has none either.
MOST_SEARCHED_BYTES = 1 << 19
# Remember the cuts in this many texts: a run that repeats itself gives the same few texts again and again.
MOST_FOUND_CUTS = 8


class TiktokenEngine:
    """An encoding of tiktoken."""

    # The regular expressions of tiktoken give up near a million blanks.
    most_characters = 1 << 17
    of_characters = False

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        ranks = encoding._mergeable_ranks
        lengths = [0] * (max(ranks.values()) + 1)
        for token, rank in ranks.items():
            lengths[rank] = len(token)
        self.lengths: Sequence[int] = lengths
        self.encode = encoding.encode_ordinary
        self.merge = encoding._encode_single_piece


class KitokenEngine:
    """A vocabulary in the package kitoken, from the file that `adding` has written."""

    # The package ends the process on a longer run of blanks.
    most_characters = 1 << 16

    def __init__(self, definition: bytes, lengths: Sequence[int], *, of_characters: bool) -> None:
        from kitoken import Kitoken

        self.lengths = lengths
        self.of_characters = of_characters
        self._definition = definition
        self.encode = Kitoken(definition).encode

    @cached_property
    def _pieces(self) -> Any:
        """The same without the pre-split, for pieces that are cut already."""
        from kitoken import Kitoken

        found = Kitoken(self._definition)
        found.set_config({**found.config(), "split": []})
        return found

    def merge(self, piece: bytes) -> list[int]:
        found: list[int] = self._pieces.encode(piece.decode())
        return found


class BytePairTokenizer(CutTokenizer):
    """Counts with an engine. `pre_split` is None if it is not known: then there are no safe cuts."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        longest_token_bytes: int,
        pre_split: PreSplit | None,
        pattern: str = "",
    ) -> None:
        super().__init__(name, pre_split.cuts if pre_split else ())
        self.longest_token_bytes = longest_token_bytes
        self._engine = engine
        self._pre_split = pre_split
        # The pattern of an engine whose pre-split is not known.
        self._pattern = pattern
        self._last = ("", 0)
        self._found_cuts: dict[bytes, int | None] = {}

    def count(self, text: str) -> int:
        # Long runs often repeat the same chunk.
        last_text, last_count = self._last
        if text == last_text:
            return last_count
        count = len(self.encode(text))
        self._last = (text, count)
        return count

    def token_lengths(self, text: str) -> Sequence[int]:
        return list(map(self._engine.lengths.__getitem__, self.encode(text)))

    def find_safe_cut(self, data: bytes) -> int | None:
        """Find a cut between two pieces of the pre-split, or inside a long one."""
        if self._long_runs is None or len(data) > MOST_SEARCHED_BYTES:
            return None
        found = self._found_cuts
        if data in found:
            return found[data]
        cut, tokens = self._long_runs.cut_after_beginning(whole_characters(data))
        if cut is not None:
            cut = in_source(data, cut)
            if tokens:
                # The caller counts this chunk next.
                self._last = (as_text(data[:cut]), tokens)
        # A new dictionary, because another thread may be reading this one.
        self._found_cuts = {**found, data: cut} if len(found) < MOST_FOUND_CUTS else {data: cut}
        return cut

    @cached_property
    def _long_runs(self) -> LongRuns | None:
        from tokcap.tokens.long_runs import LongRuns

        if self._pre_split is None or not self._pre_split.runs:
            return None
        return LongRuns(self._pre_split, self._engine, self.longest_token_bytes)

    def encode(self, text: str) -> Sequence[int]:
        """Return all tokens of a text. The text of a special token is ordinary text."""
        try:
            if len(text) <= self._engine.most_characters:
                return self._engine.encode(text)
            tokens = array("I")
            for piece in self._pieces(text):
                tokens.extend(self._engine.merge(piece.encode()))
            return tokens
        except BaseException as error:
            # Interrupts and a lack of memory are passed on: the text did not cause them.
            if is_failure(error) and not isinstance(error, MemoryError):
                raise TokenizerFailed(f"{self.name} failed on this text: {error}") from error
            raise

    def _pieces(self, text: str) -> Iterator[str]:
        """Divide a text as the engine does. What no pattern matches is a piece too."""
        # tiktoken depends on `regex`, which reads the same patterns and has no limit.
        import regex

        pre_split = self._pre_split
        patterns = ((pre_split.pieces,) if pre_split.pieces else pre_split.patterns) if pre_split else ()
        pieces: Iterator[str] = iter([text])
        for pattern in patterns or (self._pattern,):
            pieces = isolated(regex.compile(pattern), pieces)
        return pieces


def isolated(pattern: Any, texts: Iterator[str]) -> Iterator[str]:
    """Yield what a pattern matches in each text, and what is between that."""
    for text in texts:
        end = 0
        for match in pattern.finditer(text):
            if match.start() > end:
                yield text[end : match.start()]
            yield match.group()
            end = match.end()
        if end < len(text):
            yield text[end:]


def is_failure(error: BaseException) -> bool:
    """Return whether a library failed. An interrupt by the user is not a failure; a panic of pyo3 is one."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
