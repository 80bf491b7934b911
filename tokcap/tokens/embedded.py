"""The encodings whose vocabularies come with tokcap, by compiled code; what that declines is for tiktoken.

Compiled code declines characters that are not in the Unicode tables of this Python, and single pieces of the
pre-split that are long. A package that was built without a C compiler has none: then tiktoken counts all.
Every call loads this module, so it imports nothing else until a text is counted.

Each vocabulary is a hash table on disk, which compiled code reads in place. The file has `FORMAT`, then the
offsets of all buckets and of the end (32 bits each, little-endian), then the buckets. The number of a token's
bucket is its bytes, read as one number, modulo `BUCKETS`. The bucket has `BEGIN`, the token's bytes, `END`,
and its rank in three bytes of seven bits. `BEGIN` and `END` never occur in UTF-8, so a match is always a
token. Tokens of one byte are not in the file: every byte is a token.
`tests/support/vocabularies.py` makes the file of a published table, and restores the table from it.
"""

from __future__ import annotations

import codecs
import os
import sys

from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens.chunks import WORDS_AND_LINES, CutTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from mmap import mmap

    from tokcap.environment import Environment
    from tokcap.tokens.bpe import BytePairTokenizer

NAMES = ("cl100k_base", "o200k_base")
DIRECTORY = os.path.join(os.path.dirname(__file__), "data")
FORMAT = b"tokcap buckets 1"
# A prime, so that all bytes of a token matter. A bucket has about 70 bytes in cl100k_base, 140 in o200k_base.
BUCKETS = 16_381
BEGIN, END = b"\xff", b"\xfe"
OFFSET_BYTES = 4
BUCKETS_BEGIN = len(FORMAT) + OFFSET_BYTES * (BUCKETS + 1)
# After the bytes of a token: `END` and its rank.
AFTER_TOKEN = 4

# The bytes in the order of their ranks, from 0 on, in both tables: first those that Latin-1 shows.
VISIBLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
BYTES_BY_RANK = bytes((*VISIBLE, *sorted({*range(0x100)}.difference(VISIBLE))))

# The classes of characters that the pre-splits see. Compiled code gets one byte for each character: ASCII as
# it is, and the class of any other. `_native.c` has the same numbers.
UPPER, LOWER, CASELESS, MARK, NUMBER, BLANK, REST, LONG_S = range(0x80, 0x88)

CLASS_OF_CATEGORY = {
    category: character_class
    for character_class, categories in {
        UPPER: "Lu Lt",
        LOWER: "Ll",
        CASELESS: "Lm Lo",
        MARK: "Mn Mc Me",
        NUMBER: "Nd Nl No",
        # Surrogates (Cs) and unassigned characters (Cn) have no class.
        REST: "Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co",
    }.items()
    for category in categories.split()
}

# White_Space of Unicode beyond ASCII. `str.isspace` uses another definition.
BLANKS = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)

# U+017F matches `s` when case is ignored, so it can end a contraction.
SPECIAL = {**dict.fromkeys(BLANKS, BLANK), 0x17F: LONG_S}

# The version of tiktoken's tables. If Python's are newer, only characters older than both have a known class.
NEWEST_UNICODE = (16, 0)


class UnknownClass(Exception):
    """A character whose class may differ in tiktoken's tables. Only tiktoken can count it."""


class Classes(dict[int, int]):
    """Code point to class, filled on demand."""

    def __missing__(self, code_point: int) -> int:
        import unicodedata

        character = chr(code_point)
        found = CLASS_OF_CATEGORY.get(unicodedata.category(character))
        version = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
        if found is None or (version > NEWEST_UNICODE and unicodedata.ucd_3_2_0.category(character) == "Cn"):
            raise UnknownClass(f"U+{code_point:04X}")
        self[code_point] = found
        return found


CLASSES = Classes(SPECIAL)


def classify(error: UnicodeError) -> tuple[bytes, int]:
    """Return the classes of a run of characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    run = error.object[error.start : error.end]
    return run.translate(CLASSES).encode("latin-1"), error.end


# Encoding to ASCII calls the handler only for runs that are not ASCII, so the rest runs at full speed.
codecs.register_error("tokcap.classes", classify)


def classes_of(text: str) -> bytes | None:
    """Return one byte per character; None if a character has no known class."""
    try:
        return text.encode("ascii", "tokcap.classes")
    except UnknownClass:
        return None


# This many texts are remembered with their tokens; a longer one than that alone.
MOST_RECENT, RECENT_CHARACTERS = 16, 1 << 16


class EmbeddedTokenizer(CutTokenizer):
    """One embedded encoding. Both ways to count give the same tokens."""

    # True for both vocabularies.
    longest_token_bytes = 128

    def __init__(self, name: str) -> None:
        super().__init__(name, WORDS_AND_LINES)
        self._table: mmap | None = None
        self._is_native_missing = False
        self._byte_pair: BytePairTokenizer | None = None
        # The lengths of the tokens of the last texts: most texts are counted first, and then asked for them.
        self._recent: dict[str, Sequence[int]] = {}

    @property
    def byte_pair(self) -> BytePairTokenizer:
        """The same encoding by tiktoken, loaded when first asked for."""
        if self._byte_pair is None:
            self._byte_pair = self._load_byte_pair()
        return self._byte_pair

    def _load_byte_pair(self) -> BytePairTokenizer:
        """Build the encoding from the embedded vocabulary, without the network."""
        import tiktoken

        from tokcap.tokens.bpe import BytePairTokenizer, TiktokenEngine
        from tokcap.tokens.pre_splits import PRE_SPLITS

        pre_split = PRE_SPLITS[self.name]
        (pattern,) = pre_split.patterns
        table = ranks(self.name)
        encoding = tiktoken.Encoding(self.name, pat_str=pattern, mergeable_ranks=table, special_tokens={})
        return BytePairTokenizer(self.name, TiktokenEngine(encoding), self.longest_token_bytes, pre_split)

    def count(self, text: str) -> int:
        lengths = self._native_lengths(text)
        return self.byte_pair.count(text) if lengths is None else len(lengths)

    def token_lengths(self, text: str) -> Sequence[int]:
        lengths = self._native_lengths(text)
        return self.byte_pair.token_lengths(text) if lengths is None else lengths

    def _native_lengths(self, text: str) -> Sequence[int] | None:
        """Return the token lengths by compiled code; None if it declines, or if there is none."""
        recent = self._recent
        known = recent.get(text)
        if known is not None or self._is_native_missing:
            return known
        try:
            lengths = self._by_native(text)
        except ImportError:
            self._is_native_missing = True
            return None
        except (OSError, ValueError):
            # The file is missing or damaged: tiktoken says so.
            return None
        if lengths is not None:
            if len(recent) >= MOST_RECENT or len(text) > RECENT_CHARACTERS:
                # A new dictionary, because another thread may be reading this one.
                recent = self._recent = {}
            recent[text] = lengths
        return lengths

    def _by_native(self, text: str) -> bytes | None:
        from tokcap.tokens._native import sign_classes, token_lengths

        if self._table is None:
            self._table = mapped(self.name)
        data = text.encode()
        classes: bytes | None = data
        if len(data) != len(text):
            classes = sign_classes(data)
            if classes is None:
                classes = classes_of(text)
        if classes is None:
            return None
        return token_lengths(self._table, self.name, classes, data)

    def find_safe_cut(self, data: bytes) -> int | None:
        return self.byte_pair.find_safe_cut(data)


def is_compiled() -> bool:
    """Return whether the package has compiled code."""
    try:
        import tokcap.tokens._native  # noqa: F401  # loading it is the question
    except ImportError:
        return False
    return True


# A program that uses tokcap as a library reads each vocabulary once. Threads may share the tokenizers.
_opened: dict[str, EmbeddedTokenizer] = {}


class EmbeddedFamily:
    """The names of the vocabularies that come with tokcap."""

    names = NAMES

    def open(self, name: str, env: Environment | None = None) -> EmbeddedTokenizer | None:
        if name not in NAMES:
            return None
        return _opened.get(name) or _opened.setdefault(name, EmbeddedTokenizer(name))

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return "" if name in NAMES else None


FAMILY = EmbeddedFamily()


def path_of(name: str) -> str:
    return os.path.join(DIRECTORY, f"{name}.buckets")


def mapped(name: str) -> mmap:
    """Map the file of a vocabulary into memory; raise `ValueError` if this machine cannot read it."""
    import mmap

    descriptor = os.open(path_of(name), os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Load all pages at once where the system can. Most are needed soon, and one by one they cost more.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        file = mmap.mmap(descriptor, 0, flags, mmap.PROT_READ)
    finally:
        os.close(descriptor)
    check(file, name)
    return file


def check(data: bytes | mmap, name: str) -> None:
    """Raise `ValueError` if this is not a complete file that this machine can read."""
    end = int.from_bytes(data[BUCKETS_BEGIN - OFFSET_BYTES : BUCKETS_BEGIN], "little")
    if sys.byteorder != "little" or data[: len(FORMAT)] != FORMAT or end != len(data):
        raise ValueError(f"the file of {name} is not complete, or not of this version")


def ranks(name: str) -> dict[bytes, int]:
    """Return the rank of each token, in the form that tiktoken takes."""
    with open(path_of(name), "rb") as file:
        data = file.read()
    check(data, name)
    entries = data[BUCKETS_BEGIN:].split(BEGIN)
    found = {bytes((byte,)): rank for rank, byte in enumerate(BYTES_BY_RANK)}
    for entry in entries[1:]:
        found[entry[:-AFTER_TOKEN]] = entry[-3] << 14 | entry[-2] << 7 | entry[-1]
    return found
