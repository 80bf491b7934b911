"""The optional extra `bulk`: gigatoken counts large payloads many times faster than tiktoken.

Its Unicode tables are newer than tiktoken's, so it gets only texts whose characters all have a known class.
Every other text is counted by the tokenizer itself, and so is everything if gigatoken cannot be loaded.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system import proc
from tokcap.tokens import bpe, embedded

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

    from tokcap.core.tokenizer import Tokenizer

# gigatoken's names of the pre-splits.
SCHEMES = {"cl100k_base": "cl100k", "o200k_base": "o200k"}

# Stop after this many characters that gigatoken could not count: tiktoken on all cores is faster than both
# on one.
MOST_DECLINED_CHARACTERS = 1 << 20

# gigatoken remembers every piece that it has seen. Restart it when that takes this much memory. If it counted
# fewer characters than a restart is worth, most pieces are new, and tiktoken is as fast.
MOST_GROWTH_BYTES = 32 << 20
WORTH_RESTARTING_CHARACTERS = 1 << 25
CHECK_MEMORY_EVERY_CHARACTERS = 1 << 18

# A longer text is a stretch without a safe cut that can be seen. It may be one piece, and gigatoken takes 160
# bytes of memory per byte of a piece and ends the process where it gets none.
MOST_CHARACTERS = 1 << 15

ASCII = bytes(range(0x80))


class GigatokenCounter:
    """Counts like a tokenizer: by gigatoken where that is safe, otherwise by the tokenizer itself."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._gigatoken = Gigatoken(tokenizer.name)
        self._known = KnownCharacters()
        self._declined = 0
        self._failed = False

    @property
    def is_worthwhile(self) -> bool:
        """Whether to continue with it."""
        return not self._failed and self._declined < MOST_DECLINED_CHARACTERS

    def count_chunk(self, chunk: bytes) -> int:
        """Return the tokens of a chunk, which is valid UTF-8."""
        return self.count(chunk.decode())

    def count(self, text: str) -> int:
        if len(text) <= MOST_CHARACTERS and self._known.are_all_of(text):
            try:
                return self._gigatoken.count(text)
            except BaseException as error:
                if not bpe.is_failure(error):
                    raise
                self._failed = True
        self._declined += len(text)
        return self._tokenizer.count(text)


class Outgrown(Exception):
    """gigatoken took too much memory for the text that it counted."""


class Gigatoken:
    """One embedded encoding in gigatoken, loaded at the first text."""

    def __init__(self, name: str) -> None:
        from gigatoken.gigatoken_rs import BPETokenizer

        self._name = name
        self._build = BPETokenizer.from_tiktoken
        self._start_at_next_text()

    def _start_at_next_text(self) -> None:
        self._encode: Callable[[str], Sized] | None = None
        # The characters counted since the start, and the number at which memory is checked next.
        self._counted, self._check_at = 0, CHECK_MEMORY_EVERY_CHARACTERS

    def count(self, text: str) -> int:
        encode = self._encode or self._start()
        self._counted += len(text)
        if self._counted >= self._check_at:
            self._check_memory()
        return len(encode(text))

    def _start(self) -> Callable[[str], Sized]:
        import importlib
        import tempfile

        from tokcap.tokens import vocabulary

        # gigatoken imports numpy at its first call, and would take a Ctrl-C meanwhile for its own failure.
        importlib.import_module("numpy")
        with tempfile.NamedTemporaryFile(suffix=".tiktoken") as table:
            table.write(vocabulary.load(self._name).published_table())
            table.flush()
            # No special tokens: their text is counted as ordinary text.
            encode: Callable[[str], Sized] = self._build(table.name, SCHEMES[self._name], {}).encode
        # The first call uses numpy, whose memory must not count as growth.
        encode("")
        self._resident = resident_bytes()
        self._encode = encode
        return encode

    def _check_memory(self) -> None:
        self._check_at += CHECK_MEMORY_EVERY_CHARACTERS
        if resident_bytes() - self._resident < MOST_GROWTH_BYTES:
            return
        if self._counted < WORTH_RESTARTING_CHARACTERS:
            raise Outgrown(self._name)
        self._start_at_next_text()


class KnownCharacters:
    """Checks whether all characters of a text have a known class (see `tokens.character_classes`)."""

    def __init__(self) -> None:
        import unicodedata

        from tokcap.tokens.character_classes import NEWEST_UNICODE

        self._known: set[str] = set()
        version = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
        self._printable_are_known = version <= NEWEST_UNICODE

    def are_all_of(self, text: str) -> bool:
        if text.isascii():
            return True
        # Deleting the ASCII bytes is much faster than looking at each character.
        others = text.encode().translate(None, ASCII).decode()
        # Printable characters are assigned. For nearly every text this check is enough.
        if self._printable_are_known and others.isprintable():
            return True
        from tokcap.tokens.character_classes import classes_of

        new = set(others) - self._known
        if classes_of("".join(new)) is None:
            return False
        self._known |= new
        return True


def counter_for(tokenizer: Tokenizer) -> GigatokenCounter | None:
    """Return a faster counter for this tokenizer; None if gigatoken has none or is not installed."""
    if tokenizer.name not in embedded.NAMES:
        return None
    try:
        return GigatokenCounter(tokenizer)
    except BaseException as error:
        # Code of another package can raise anything, even while it is imported.
        if not bpe.is_failure(error):
            raise
        return None


def resident_bytes() -> int:
    """Return the memory that this process holds now; where that is unknown, the most it ever held."""
    if (known := proc.resident_bytes()) is not None:
        return known
    import resource

    # On systems without /proc, the unit is bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
