"""The optional extra `bulk`: gigatoken counts what is large, many times faster than tiktoken.

It gets only texts of which every character is known for certain, for its Unicode tables are newer than
tiktoken's; everything else, and everything if it cannot be loaded, is counted as without it.
"""

from __future__ import annotations

import os

from tokcap.record import TYPE_CHECKING
from tokcap.tokens import bpe
from tokcap.tokens.vocabulary import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Sized

    from tokcap.types import Tokenizer

# What gigatoken calls the pre-splits.
SCHEMES = {"cl100k_base": "cl100k", "o200k_base": "o200k"}

# So much in doubt, and all cores with tiktoken are better than one without.
MOST_DOUBTED = 1 << 22

# gigatoken remembers every piece it has met. After so much more memory it starts afresh, if it counted enough
# meanwhile to be worth that; how much memory there is, is looked up once in so many characters.
MOST_GROWTH_BYTES = 40 << 20
WORTH_LOADING = 1 << 22
LOOK_EVERY = 1 << 18

ASCII = bytes(range(0x80))


class BulkCounter:
    """Counts for a tokenizer, with the same results: in the main itself, else by asking it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._certain = CertainCharacters()
        self._backend = Backend(tokenizer.name)
        self._doubted = 0
        # Characters since gigatoken started afresh, and since its memory was last looked at.
        self._counted = self._unlooked = 0
        self._resident = resident_bytes()

    @property
    def pays(self) -> bool:
        """Whether to go on with it."""
        return self._doubted < MOST_DOUBTED

    def count(self, text: str) -> int:
        if len(text) <= bpe.PLAIN_CHARACTERS and self._certain.are_all_of(text):
            try:
                self._keep_small(len(text))
                return len(self._backend.encode(text))
            except BaseException as error:
                if not bpe.is_failure(error):
                    raise
        self._doubted += len(text)
        return self._tokenizer.count(text)

    def _keep_small(self, characters: int) -> None:
        self._counted += characters
        self._unlooked += characters
        if self._unlooked < LOOK_EVERY:
            return
        self._unlooked = 0
        if resident_bytes() - self._resident < MOST_GROWTH_BYTES:
            return
        if self._counted < WORTH_LOADING:
            self._doubted = MOST_DOUBTED
        else:
            self._backend.start_afresh()
            self._counted = 0


class Backend:
    """One embedded encoding in gigatoken."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.start_afresh()

    def start_afresh(self) -> None:
        import tempfile

        from gigatoken.gigatoken_rs import BPETokenizer

        from tokcap.tokens import vocabulary

        # First of all the memory of the one before.
        self._encoding = None
        with tempfile.NamedTemporaryFile(suffix=".tiktoken") as table:
            table.write(vocabulary.load(self._name).published_table())
            table.flush()
            # Special tokens are none: their text is ordinary text.
            self._encoding = BPETokenizer.from_tiktoken(table.name, SCHEMES[self._name], {})
        # Loads what it loads at the first text.
        self.encode("")

    def encode(self, text: str) -> Sized:
        found: Sized = self._encoding.encode(text)
        return found


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
        # Deleting bytes is far quicker than looking at characters.
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
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        # In bytes where there is no /proc.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
