"""Tokenizers that the user has added with `tokcap tokenizer add`: a directory of compiled files for each.

A call that names one loads this module, so it imports nothing else until a text is counted.
"""

from __future__ import annotations

import os

from tokcap.errors import TokenizerFailed, TokenizerUnavailable
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.lean.table import Table
from tokcap.tokens.embedded import EmbeddedTokenizer, byte_pair_of

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from tokcap.core.tokenizer import Cut, Tokenizer
    from tokcap.environment import Environment
    from tokcap.tokens.bpe import BytePairTokenizer
    from tokcap.tokens.buckets import Ranks
    from tokcap.tokens.small_text import SmallTextEncoder
    from tokcap.tokens.vocabulary import Vocabulary

FORMAT = "tokcap tokenizer 1"
# The encoder and the prefix of descriptions that name none.
BYTE_PAIR, NO_PREFIX = "byte_pair", "none"
# The copy of a file that the package `tokenizers` reads.
SOURCE = "source.json"
DESCRIPTION, BUCKETS, VOCABULARY = "description", "buckets", "vocabulary"
LONGEST_NAME = 64
# The digits of a digest that are shown.
DIGEST_DIGITS = 16
# The work in nanoseconds that loading one token into tiktoken takes (see `embedded.ALLOWANCE`).
ALLOWANCE_PER_TOKEN = 1_000
# NFC makes at most three bytes of one, and one byte of at most three.
MOST_NFC_GROWTH = 3
MOST_FIRST_MERGES_BYTES = 2 * 127


class Description(Record):
    """What is known about an added tokenizer. Its file has a line for each field."""

    name: str
    # The format of the file that it was compiled from, and its path, as in a URL.
    source_format: str
    source_path: str
    source_sha256: str
    pre_split: str
    # "nfc" or "none".
    normalizer: str
    # A name in `ENCODERS`.
    encoder: str
    # "none", or a name in `sentencepiece.PREFIXES`.
    prefix: str
    tokens: int
    longest_token_bytes: int
    digit_group: int
    # The digest of both compiled files, so that damage can be noticed.
    compiled_sha256: str
    # A run of so many blanks, or fewer, is one token whatever follows it; 0: that is not known.
    blank_run: int = 0
    # The first merges in ASCII, in hexadecimal (see `small_text.FirstMerges`); empty: there are none.
    first_merges: str = ""

    def packed(self) -> bytes:
        lines = [FORMAT, *(f"{key} {value}" for key, value in self.__dict__.items())]
        return "".join(f"{line}\n" for line in lines).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Description:
        """Read what `packed` wrote; `ValueError` if it is something else."""
        form, *lines = data.decode().splitlines()
        if form != FORMAT:
            raise ValueError(f"not a tokenizer of this version: {form[:40]!r}")
        values = dict(line.split(" ", 1) for line in lines)
        if values.keys() != {*cls._fields}:
            raise ValueError("a part is missing")
        # Two bytes for each merge, and at most as many as a byte can stand for.
        if len(bytes.fromhex(values["first_merges"])) > MOST_FIRST_MERGES_BYTES:
            raise ValueError("too many first merges")
        keys = ("tokens", "longest_token_bytes", "digit_group", "blank_run")
        numbers = {key: int(values.pop(key)) for key in keys}
        return cls(**values, **numbers)  # type: ignore[arg-type]  # mypy does not know which key is which

    @property
    def digest(self) -> str:
        return self.source_sha256[:DIGEST_DIGITS]


class AddedEncoding(Record):
    """What the encoder for small texts has to know."""

    buckets: str
    allowance: int
    pre_split: str
    first_merges: str = ""

    def ascii_pattern(self) -> re.Pattern[bytes] | None:
        """Return a faster pattern for texts of ASCII alone; None if there is none."""
        from tokcap.lean.patterns import PRE_SPLITS_READY_FILE, compiled
        from tokcap.tokens.other_pre_splits import OTHER_ASCII_PRE_SPLIT
        from tokcap.tokens.small_text import ASCII_PRE_SPLIT

        if self.pre_split in ASCII_PRE_SPLIT:
            return compiled(ASCII_PRE_SPLIT[self.pre_split])
        other = OTHER_ASCII_PRE_SPLIT.get(self.pre_split)
        return compiled(other, ready_file=PRE_SPLITS_READY_FILE) if other else None

    def pattern(self) -> re.Pattern[bytes]:
        from tokcap.lean.patterns import PRE_SPLITS_READY_FILE, compiled
        from tokcap.tokens.other_pre_splits import OTHER_CLASS_PRE_SPLIT
        from tokcap.tokens.small_text import CLASS_PRE_SPLIT

        if self.pre_split in CLASS_PRE_SPLIT:
            return compiled(CLASS_PRE_SPLIT[self.pre_split])
        return compiled(OTHER_CLASS_PRE_SPLIT[self.pre_split], ready_file=PRE_SPLITS_READY_FILE)

    def pieces(self, text: str, split: re.Pattern[bytes]) -> list[bytes] | None:
        """Return the pieces of a text that is not ASCII; None if a character has no known class."""
        from tokcap.tokens.small_text import cut_like

        classes = self.classes_of(text)
        return None if classes is None else cut_like(split.findall(classes), text)

    def first_parts(self, piece: bytes, ranks: Ranks) -> list[bytes]:
        """Return the parts that merging starts with."""
        from tokcap.tokens.small_text import SINGLE

        return [*map(SINGLE.__getitem__, piece)]

    def classes_of(self, text: str) -> bytes | None:
        """Return one byte per character; None if a character has no known class."""
        from tokcap.tokens.other_pre_splits import CLASSES

        if self.pre_split in CLASSES:
            return CLASSES[self.pre_split](text)
        from tokcap.tokens.character_classes import classes_of

        return classes_of(text)


class AddedTokenizer(EmbeddedTokenizer):
    """A tokenizer in a directory of the user."""

    def __init__(self, directory: str, described: Description) -> None:
        super().__init__(described.name)
        self._directory = directory
        self.described = described
        self.pre_split = described.pre_split
        self.digest = described.digest
        self.digit_group = described.digit_group
        self._normalizes = described.normalizer == "nfc"
        self.longest_token_bytes = described.longest_token_bytes
        if self._normalizes:
            self.most_tokens_per_byte = MOST_NFC_GROWTH
            self.longest_token_bytes *= MOST_NFC_GROWTH

    def _load_byte_pair(self) -> BytePairTokenizer:
        from tokcap.tokens import vocabulary

        described = self.described
        try:
            table = vocabulary.read(os.path.join(self._directory, VOCABULARY))
            if len(table.lengths) < described.tokens or sum(table.lengths) != len(table.joined):
                raise ValueError("a part is missing")
        except (OSError, ValueError):
            raise TokenizerFailed(
                f"the files of {self.name} are damaged; remove it and add it again: "
                f"tokcap tokenizer remove {self.name}"
            ) from None
        return self._byte_pair_of(table)

    def _byte_pair_of(self, table: Vocabulary) -> BytePairTokenizer:
        return byte_pair_of(self.name, table, self.pre_split, self.described.longest_token_bytes)

    def _open_small_text(self) -> SmallTextEncoder:
        from tokcap.tokens.small_text import SmallTextEncoder

        path = os.path.join(self._directory, BUCKETS)
        allowance = ALLOWANCE_PER_TOKEN * self.described.tokens
        return SmallTextEncoder(self.name, self._encoding(path, allowance))

    def _encoding(self, path: str, allowance: int) -> AddedEncoding:
        return AddedEncoding(path, allowance, self.pre_split, self.described.first_merges)

    def are_digits_alike(self) -> bool:
        from tokcap.tokens.buckets import Ranks

        if not self.digit_group:
            return False
        # Every single byte is a token.
        groups = [
            b"%0*d" % (size, number) for size in range(2, self.digit_group + 1) for number in range(10**size)
        ]
        try:
            return len(Ranks(os.path.join(self._directory, BUCKETS)).tokens_among(groups)) == len(groups)
        except (OSError, ValueError):
            return False

    def count(self, text: str) -> int:
        return super().count(self._normalized(text))

    def count_without_tiktoken(self, text: str) -> int | None:
        return super().count_without_tiktoken(self._normalized(text))

    def _normalized(self, text: str) -> str:
        if not self._normalizes or text.isascii():
            return text
        from tokcap.tokens.nfc import normalized

        return normalized(text)

    def token_lengths(self, text: str) -> Sequence[int]:
        if not self._normalizes or text.isascii():
            return super().token_lengths(text)
        from tokcap.tokens.nfc import lengths_in_source, normalized

        normal = normalized(text)
        lengths = super().token_lengths(normal)
        return lengths if normal == text else lengths_in_source(text, lengths)

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        if not self._normalizes or data.isascii():
            return super().find_safe_cut(data, in_piece=in_piece)
        from tokcap.tokens.nfc import cut_in_source

        return cut_in_source(data, super().find_safe_cut)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        cut = super().cut_in_middle(data, is_end=is_end)
        if cut is None or not self._normalizes or data.isascii():
            return cut
        from tokcap.tokens.nfc import is_between_characters, is_normalized

        # The beginning is unknown, so it is not normalized here.
        return cut if is_normalized(data) and is_between_characters(data, cut) else None


# How a tokenizer is opened that has been added: a function of its directory and its description.
ENCODERS: Table[Callable[[str, Description], Tokenizer]] = Table(
    byte_pair="tokcap.tokens.added:AddedTokenizer",
    sentencepiece="tokcap.tokens.sentencepiece:opened",
    package="tokcap.tokens.package_tokenizer:PackageTokenizer",
)
# As for the embedded ones. By directory: another data directory may have another tokenizer of the same name.
_opened: dict[str, tuple[bytes, Tokenizer]] = {}


class AddedFamily:
    """The names of the directories in `tokenizers` of the data directory."""

    # They are different on every machine.
    names = ()

    def open(self, name: str, env: Environment | None = None) -> Tokenizer | None:
        packed = packed_description(name, env)
        if packed is None:
            return None
        directory = os.path.join(place_of(env), name)
        before = _opened.get(directory)
        if before and before[0] == packed:
            return before[1]
        described = unpacked_description(name, packed)
        tokenizer = ENCODERS[described.encoder](directory, described)
        _opened[directory] = (packed, tokenizer)
        return tokenizer

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return None if description_of(name, env) is None else ""


def description_of(name: str, env: Environment | None = None) -> Description | None:
    """Return what is known about an added tokenizer; None if there is none of this name."""
    packed = packed_description(name, env)
    return None if packed is None else unpacked_description(name, packed)


def packed_description(name: str, env: Environment | None) -> bytes | None:
    if not is_name(name):
        return None
    try:
        with open(os.path.join(place_of(env), name, DESCRIPTION), "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TokenizerUnavailable(
            f"--tokenizer: {name!r} cannot be read: {error.strerror}; "
            f"add it again: tokcap tokenizer remove {name}"
        ) from None


def unpacked_description(name: str, packed: bytes) -> Description:
    try:
        described = Description.unpacked(packed)
        if described.encoder not in ENCODERS:
            raise ValueError(described.encoder)
    except (ValueError, TypeError):
        raise TokenizerUnavailable(
            f"--tokenizer: {name!r} is damaged or of another version of tokcap; "
            f"remove it and add it again: tokcap tokenizer remove {name}"
        ) from None
    return described


def place_of(env: Environment | None) -> str:
    """Return the directory of all added tokenizers."""
    if env is None:
        from tokcap.environment import Environment

        env = Environment(os.environ)
    return os.path.join(env.data_dir(), "tokenizers")


def names(env: Environment) -> Sequence[str]:
    """Return the names of all added tokenizers."""
    try:
        return sorted(filter(is_name, os.listdir(place_of(env))))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def is_name(name: str) -> bool:
    """Return whether a tokenizer can be added under this name. It is the name of a directory."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    return name.isascii() and plain.isalnum() and name[0].isalnum() and len(name) <= LONGEST_NAME


FAMILY = AddedFamily()
