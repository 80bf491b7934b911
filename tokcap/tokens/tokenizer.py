"""The interface of a tokenizer, the simple ones, and how a name becomes one."""

from __future__ import annotations

from tokcap.errors import TokenizerFailed, TokenizerUnavailable
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens import bpe
from tokcap.tokens.vocabulary import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.tokenizer import Tokenizer

PLUGIN_GROUP = "tokcap.tokenizers"
# Of tokens that may be of any length: more bytes than any payload has.
ANY_LENGTH = 1 << 62


class ApproxTokenizer:
    """Characters / 4, rounded up. Named an approximation, and exact as such."""

    name = "approx"
    stable = True
    cuts_anywhere = False
    # Four characters of four bytes.
    longest_token_bytes = 16

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4

    def token_lengths(self, text: str) -> Sequence[int]:
        if text.isascii():
            full, left = divmod(len(text), 4)
            return [4] * full + [left] * (left > 0)
        return [len(text[place : place + 4].encode()) for place in range(0, len(text), 4)]

    def certain_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        """The next multiple of four characters, counted from `begin`."""
        cut = next_character(data, search_from + 1)
        characters = len(data[begin:cut].decode("utf-8", "replace"))
        while cut < len(data) and characters % 4:
            after = next_character(data, cut + 1)
            characters += len(data[cut:after].decode("utf-8", "replace"))
            cut = after
        # At the end of the data the last character may still be incomplete.
        return cut if cut < len(data) else None

    def proven_cut(self, data: bytes) -> int | None:
        return None

    def prepare(self) -> None:
        """Nothing to load."""


def next_character(data: bytearray, start: int) -> int:
    """The first place from `start` on where a character, or something that is none, begins."""
    # At most three continuation bytes follow a leading one: a fourth belongs to no character.
    furthest = min(start + 3, len(data))
    while start < furthest and data[start] & 0xC0 == 0x80:
        start += 1
    return start


class ByteTokenizer:
    """Every byte a token: what remains to count with when a tokenizer fails on a payload.

    No tokenizer has more tokens than bytes, so a cap in bytes holds in tokens as well.
    """

    name = "bytes"
    stable = False
    cuts_anywhere = False
    longest_token_bytes = 1

    def count(self, text: str) -> int:
        return len(text.encode())

    def token_lengths(self, text: str) -> Sequence[int]:
        return [1] * self.count(text)

    def certain_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        cut = next_character(data, search_from + 1)
        return cut if cut < len(data) else None

    def proven_cut(self, data: bytes) -> int | None:
        return None

    def prepare(self) -> None:
        """Nothing to load."""


class PluginTokenizer:
    """A tokenizer from the entry-point group `tokcap.tokenizers`.

    The entry point names a callable without arguments. What it returns has `token_lengths(text)`;
    that alone is enough. Its texts are never cut in pieces, for only it could say where. If it has
    `longest_token_bytes`, no more than that is kept for each token of a window; else tokens may be of any
    length.
    """

    stable = False
    cuts_anywhere = False

    def __init__(self, name: str, plugin: object) -> None:
        self.name = name
        self._token_lengths = getattr(plugin, "token_lengths", None)
        if not callable(self._token_lengths):
            raise TokenizerUnavailable(f"--tokenizer: the plug-in {name!r} has no method token_lengths(text)")
        self.longest_token_bytes = getattr(plugin, "longest_token_bytes", ANY_LENGTH)
        if type(self.longest_token_bytes) is not int or self.longest_token_bytes < 1:
            raise TokenizerUnavailable(
                f"--tokenizer: longest_token_bytes of the plug-in {name!r} is no number of bytes: "
                f"{self.longest_token_bytes!r}"
            )

    def count(self, text: str) -> int:
        return len(self.token_lengths(text))

    def token_lengths(self, text: str) -> Sequence[int]:
        assert callable(self._token_lengths)
        try:
            lengths = [int(length) for length in self._token_lengths(text)]
        except Exception as error:
            # Foreign code: whatever it raises, the output must still come out.
            raise TokenizerFailed(f"the plug-in {self.name!r} failed: {error!r}") from error
        if sum(lengths) != len(text.encode()) or min(lengths, default=1) < 1:
            raise TokenizerFailed(f"the lengths from the plug-in {self.name!r} do not add up to the text")
        if max(lengths, default=1) > self.longest_token_bytes:
            raise TokenizerFailed(f"the plug-in {self.name!r} has a token above its longest_token_bytes")
        return lengths

    def certain_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return None

    def proven_cut(self, data: bytes) -> int | None:
        return None

    def prepare(self) -> None:
        """Nothing to load."""


# A program that calls tokcap as a library reads each vocabulary once. Threads may share them.
_embedded: dict[str, Tokenizer] = {}


def open_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of that name, or a refusal. The embedded ones are loaded when first used, and stay."""
    if name == ApproxTokenizer.name:
        return ApproxTokenizer()
    if name in EMBEDDED:
        return _embedded.get(name) or _embedded.setdefault(name, bpe.load_embedded(name))
    if plugin := find_plugin(name):
        return plugin
    # Whether tiktoken can load it must be known before a command runs.
    encoding_name = bpe.encoding_name_of(name)
    if encoding_name in EMBEDDED:
        return open_tokenizer(encoding_name)
    return bpe.load_foreign(encoding_name)


def find_plugin(name: str) -> Tokenizer | None:
    from importlib.metadata import entry_points

    for entry in entry_points(group=PLUGIN_GROUP, name=name):
        try:
            plugin = entry.load()()
        except Exception as error:
            # Foreign code again, this time before anything has run: refuse.
            raise TokenizerUnavailable(
                f"--tokenizer: the plug-in {name!r} cannot be loaded: {error!r}"
            ) from error
        return PluginTokenizer(name, plugin)
    return None
