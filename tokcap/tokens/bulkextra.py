"""The optional extra `bulk`: gigatoken counts what is large, many times faster than tiktoken.

It gets only texts of which every character is known for certain, for its Unicode tables are newer than
tiktoken's; everything else, and everything if it cannot be loaded, is counted as without it.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system import proc
from tokcap.tokens import bpe
from tokcap.tokens.vocabulary import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Callable, Sized

    from tokcap.core.tokenizer import Tokenizer

# What gigatoken calls the pre-splits.
SCHEMES = {"cl100k_base": "cl100k", "o200k_base": "o200k"}

# So much in doubt, and tiktoken on all cores is better than this on one.
MOST_DOUBTED = 1 << 20

# gigatoken remembers every piece that it has met. When that takes so much memory it starts afresh; if fewer
# characters were counted than that is worth, most pieces are new, and tiktoken is no slower.
MOST_GROWTH_BYTES = 32 << 20
WORTH_STARTING = 1 << 25
LOOK_EVERY = 1 << 18

ASCII = bytes(range(0x80))


class BulkCounter:
    """Counts for a tokenizer, with the same results: mostly by gigatoken, else by asking it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._gigatoken = Gigatoken(tokenizer.name)
        self._certain = CertainCharacters()
        self._doubted = 0
        self._failed = False

    @property
    def pays(self) -> bool:
        """Whether to go on with it."""
        return not self._failed and self._doubted < MOST_DOUBTED

    def count(self, text: str) -> int:
        # Longer ones have no cut for long: they ask for more than speed, and are rare.
        if len(text) <= bpe.PLAIN_CHARACTERS and self._certain.are_all_of(text):
            try:
                return self._gigatoken.count(text)
            except BaseException as error:
                if not bpe.is_failure(error):
                    raise
                self._failed = True
        self._doubted += len(text)
        return self._tokenizer.count(text)


class Outgrown(Exception):
    """gigatoken took much memory for little text."""


class Gigatoken:
    """One embedded encoding in gigatoken, loaded at its first text."""

    def __init__(self, name: str) -> None:
        from gigatoken.gigatoken_rs import BPETokenizer

        self._name = name
        self._build = BPETokenizer.from_tiktoken
        self._start_at_next_text()

    def _start_at_next_text(self) -> None:
        self._encode: Callable[[str], Sized] | None = None
        # Characters since it was started, and when its memory is looked at next.
        self._counted, self._look_at = 0, LOOK_EVERY

    def count(self, text: str) -> int:
        encode = self._encode or self._start()
        self._counted += len(text)
        if self._counted >= self._look_at:
            self._look()
        return len(encode(text))

    def _start(self) -> Callable[[str], Sized]:
        import tempfile

        from tokcap.tokens import vocabulary

        with tempfile.NamedTemporaryFile(suffix=".tiktoken") as table:
            table.write(vocabulary.load(self._name).published_table())
            table.flush()
            # No special tokens: their text is ordinary text.
            encode: Callable[[str], Sized] = self._build(table.name, SCHEMES[self._name], {}).encode
        # It loads numpy for its first answer.
        encode("")
        self._resident = resident_bytes()
        self._encode = encode
        return encode

    def _look(self) -> None:
        self._look_at += LOOK_EVERY
        if resident_bytes() - self._resident < MOST_GROWTH_BYTES:
            return
        if self._counted < WORTH_STARTING:
            raise Outgrown(self._name)
        self._start_at_next_text()


class CertainCharacters:
    """Tells texts of which every character is of the same class everywhere (see `tokens.classes`)."""

    def __init__(self) -> None:
        import unicodedata

        from tokcap.tokens.classes import NEWEST_UNICODE

        self._known: set[str] = set()
        version = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
        self._printable_are_certain = version <= NEWEST_UNICODE

    def are_all_of(self, text: str) -> bool:
        if text.isascii():
            return True
        # Deleting bytes is far quicker than looking at each character.
        others = text.encode().translate(None, ASCII).decode()
        # What can be printed is assigned: in nearly every text that settles it at once.
        if self._printable_are_certain and others.isprintable():
            return True
        from tokcap.tokens.classes import classes_of

        new = set(others) - self._known
        if classes_of("".join(new)) is None:
            return False
        self._known |= new
        return True


def counter_for(tokenizer: Tokenizer) -> BulkCounter | None:
    """A faster way to count with this tokenizer, if there is one here."""
    if tokenizer.name not in EMBEDDED:
        return None
    try:
        return BulkCounter(tokenizer)
    except BaseException as error:
        # Foreign code can fail with anything, while it is loaded too.
        if not bpe.is_failure(error):
            raise
        return None


def resident_bytes() -> int:
    """Memory of this process: what it holds now, or where that is not told, the most it ever held."""
    if (known := proc.resident_bytes()) is not None:
        return known
    import resource

    # In bytes where there is no /proc.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
