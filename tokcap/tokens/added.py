"""Tokenizers that the user has added with `tokcap tokenizer add`, each in a directory that `adding` writes.

The package kitoken (extra `tokenizers`) encodes. A call that names one loads this module, so it imports
nothing else until a text is counted.
"""

from __future__ import annotations

import os

from tokcap.core.tokenizer import WholeTokens
from tokcap.errors import TokenizerFailed, TokenizerUnavailable
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens.chunks import CutTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.tokens.bpe import BytePairTokenizer
    from tokcap.tokens.normalization import Normalization

FORMAT = "tokcap tokenizer 2"
# The files of a tokenizer: what is known about it, the definition for kitoken, and the length of each token
# in a byte.
DESCRIPTION, DEFINITION, LENGTHS = "description", "definition", "lengths"
LONGEST_NAME = 64
# The digits of a digest that are shown.
DIGEST_DIGITS = 16
# A blank as a text and as a vocabulary has it.
BLANKS = (" ", "\u2581")
# One byte of a text is at most three bytes when it is normalized, and the other way round.
MOST_GROWTH = 3


class Description(Record):
    """What is known about an added tokenizer. Its file has a line for each field."""

    name: str
    # The format of the file that it was made of, and its path, as in a URL.
    source_format: str
    source_path: str
    source_sha256: str
    # A name in `PRE_SPLITS`.
    pre_split: str
    # As in `Published`.
    normalizer: str
    prefix: str
    tokens: int
    longest_token_bytes: int
    # The digest of the other files, so that damage can be noticed.
    compiled_sha256: str

    @classmethod
    def unpacked(cls, data: bytes) -> Description:
        """Read what `packed` wrote; `ValueError` if it is something else."""
        values = unpacked(data, FORMAT, cls._fields)
        numbers = {key: int(values.pop(key)) for key in ("tokens", "longest_token_bytes")}
        return cls(**values, **numbers)  # type: ignore[arg-type]  # mypy does not know which key is which

    @property
    def digest(self) -> str:
        return self.source_sha256[:DIGEST_DIGITS]


def packed(record: Record, form: str) -> bytes:
    """Return a file with a line for each field of a record."""
    return "".join([f"{form}\n", *(f"{key} {value}\n" for key, value in record.__dict__.items())]).encode()


def unpacked(data: bytes, form: str, fields: Sequence[str]) -> dict[str, str]:
    """Return the fields in such a file; `ValueError` if it is something else."""
    found, *lines = data.decode().splitlines() or [""]
    values = dict(line.split(" ", 1) for line in lines)
    if found != form or values.keys() != {*fields}:
        raise ValueError(f"not of this version: {found[:40]!r}")
    return values


class AddedTokenizer(CutTokenizer):
    """A tokenizer in a directory of the user, without a blank before the text."""

    def __init__(self, directory: str, described: Description) -> None:
        from tokcap.tokens.pre_splits import PRE_SPLITS

        self._pre_split = PRE_SPLITS[described.pre_split]
        super().__init__(described.name, self._pre_split.cuts)
        self.digest, self.described = described.digest, described
        self._directory = directory
        self.most_tokens_per_byte = MOST_GROWTH if described.normalizer == "nfc" else 1
        # One byte of normalized text can be several of the source.
        growth = 1 if described.normalizer == "none" else MOST_GROWTH
        self.longest_token_bytes = described.longest_token_bytes * growth
        self._byte_pair: BytePairTokenizer | None = None

    @property
    def byte_pair(self) -> BytePairTokenizer:
        """What encodes normalized text, loaded when first asked for."""
        if self._byte_pair is None:
            self._byte_pair = self._load()
        return self._byte_pair

    def _load(self) -> BytePairTokenizer:
        from tokcap.tokens.bpe import BytePairTokenizer, KitokenEngine, is_failure

        described = self.described
        try:
            definition, lengths = read_files(self._directory)
            if len(lengths) != described.tokens:
                raise ValueError("a part is missing")
            engine = KitokenEngine(definition, lengths, of_characters=described.normalizer == "blanks")
        except ImportError:
            raise TokenizerFailed(package_missing(self.name)) from None
        except BaseException as error:
            if not is_failure(error) or isinstance(error, MemoryError):
                raise
            raise TokenizerFailed(
                f"the files of {self.name} are damaged; remove it and add it again: "
                f"tokcap tokenizer remove {self.name}"
            ) from None
        return BytePairTokenizer(self.name, engine, described.longest_token_bytes, self._pre_split)

    @property
    def _normalization(self) -> Normalization:
        from tokcap.tokens.normalization import NORMALIZATIONS

        return NORMALIZATIONS[self.described.normalizer]

    def _normalized(self, text: str) -> str:
        is_plain = text.isascii() or self.described.normalizer == "none"
        return text if is_plain else self._normalization.of(text)

    def count(self, text: str) -> int:
        return self.byte_pair.count(self._normalized(text))

    def token_lengths(self, text: str) -> Sequence[int]:
        normal = self._normalized(text)
        lengths = self.byte_pair.token_lengths(normal)
        return lengths if normal == text else self._normalization.lengths_in_source(text, lengths)

    def find_safe_cut(self, data: bytes) -> int | None:
        if data.isascii() or self.described.normalizer == "none":
            return self.byte_pair.find_safe_cut(data)
        return self._normalization.cut_in_source(data, self.byte_pair.find_safe_cut)


class PrefixedTokenizer(WholeTokens):
    """A tokenizer that puts a blank before every text. Its first token may be only that blank."""

    stable = True
    cuts_anywhere = True
    most_tokens_per_byte = 1
    prefix_tokens = 1

    def __init__(self, plain: AddedTokenizer) -> None:
        self.continued: AddedTokenizer = plain
        self.name, self.digest, self.described = plain.name, plain.digest, plain.described
        self.longest_token_bytes = plain.longest_token_bytes

    def _is_blank_put_before(self, text: str) -> bool:
        return bool(text) and (self.described.prefix == "always" or text[0] not in BLANKS)

    def count(self, text: str) -> int:
        return self.continued.count(" " + text if self._is_blank_put_before(text) else text)

    def token_lengths(self, text: str) -> Sequence[int]:
        if not self._is_blank_put_before(text):
            return self.continued.token_lengths(text)
        first, *others = self.continued.token_lengths(" " + text)
        return [first - 1, *others]

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return self.continued.safe_cut(data, begin, search_from)

    def find_safe_cut(self, data: bytes) -> int | None:
        if not self._is_blank_put_before(data[:8].decode("utf-8", "replace")):
            return self.continued.find_safe_cut(data)
        found = self.continued.find_safe_cut(b" " + data)
        return found - 1 if found and found > 1 else None


def opened(directory: str, described: Description) -> AddedTokenizer | PrefixedTokenizer:
    """Return the tokenizer in a directory."""
    plain = AddedTokenizer(directory, described)
    return plain if described.prefix == "none" else PrefixedTokenizer(plain)


def read_files(directory: str) -> list[bytes]:
    """Return the definition and the lengths in a directory."""
    found = []
    for name in (DEFINITION, LENGTHS):
        with open(os.path.join(directory, name), "rb") as file:
            found.append(file.read())
    return found


def has_package() -> bool:
    """Return whether kitoken is installed, without loading it."""
    from importlib.util import find_spec

    return find_spec("kitoken") is not None


def package_missing(name: str) -> str:
    from tokcap.system.installation import command_to_add

    return (
        f"{name!r} needs the package kitoken (extra tokcap[tokenizers]); "
        f"to install it: {command_to_add('tokenizers')}"
    )


# Threads may share the tokenizers. By directory: another one may have another tokenizer of the same name.
_opened: dict[str, tuple[bytes, Tokenizer]] = {}


class AddedFamily:
    """The names of the directories in `tokenizers` of the data directory."""

    # The names are different on every machine.
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
        if not has_package():
            raise TokenizerUnavailable(f"--tokenizer: {package_missing(name)}")
        tokenizer = opened(directory, described)
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
    from tokcap.tokens.pre_splits import PRE_SPLITS

    try:
        described = Description.unpacked(packed)
        if described.pre_split not in PRE_SPLITS:
            raise ValueError(described.pre_split)
    except (ValueError, TypeError):
        raise TokenizerUnavailable(
            f"--tokenizer: {name!r} is damaged or of another version of tokcap; "
            f"remove it and add it again: tokcap tokenizer remove {name}"
        ) from None
    return described


def place_of(env: Environment | None, room: str = "tokenizers") -> str:
    """Return the directory of all added tokenizers, or another one of the data directory."""
    if env is None:
        from tokcap.environment import Environment

        env = Environment(os.environ)
    return os.path.join(env.data_dir(), room)


def names(env: Environment, room: str = "tokenizers") -> Sequence[str]:
    """Return the names of all added tokenizers, or of what is in another directory of `place_of`."""
    try:
        return sorted(filter(is_name, os.listdir(place_of(env, room))))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def is_name(name: str) -> bool:
    """Return whether a tokenizer can be added under this name. It is the name of a directory."""
    plain = name.replace("-", "").replace("_", "").replace(".", "")
    return name.isascii() and plain.isalnum() and name[0].isalnum() and len(name) <= LONGEST_NAME


FAMILY = AddedFamily()
