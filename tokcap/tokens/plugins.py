"""Tokenizers that other packages register by an entry point in the group `tokcap.tokenizers`."""

from __future__ import annotations

from tokcap.core.tokenizer import WholeTokens
from tokcap.errors import TokenizerFailed, TokenizerUnavailable
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment

GROUP = "tokcap.tokenizers"
# For a plug-in that does not limit its tokens: more bytes than any payload has.
ANY_LENGTH = 1 << 62


class PluginTokenizer(WholeTokens):
    """A tokenizer made from the object that a plug-in returns.

    The entry point names a callable without arguments. The object that it returns needs one method,
    `token_lengths(text)`. If it also has `longest_token_bytes`, tokcap keeps no more bytes than that for each
    token of a window. Texts are never cut into pieces for it, because only the plug-in knows the safe cuts.
    """

    def __init__(self, name: str, plugin: object) -> None:
        self.name = name
        self._token_lengths = getattr(plugin, "token_lengths", None)
        if not callable(self._token_lengths):
            raise TokenizerUnavailable(f"--tokenizer: the plug-in {name!r} has no method token_lengths(text)")
        self.longest_token_bytes = getattr(plugin, "longest_token_bytes", ANY_LENGTH)
        if type(self.longest_token_bytes) is not int or self.longest_token_bytes < 1:
            raise TokenizerUnavailable(
                f"--tokenizer: longest_token_bytes of the plug-in {name!r} is not a positive number: "
                f"{self.longest_token_bytes!r}"
            )

    def count(self, text: str) -> int:
        return len(self.token_lengths(text))

    def token_lengths(self, text: str) -> Sequence[int]:
        assert callable(self._token_lengths)
        try:
            lengths = [int(length) for length in self._token_lengths(text)]
        except Exception as error:
            # Code of another package can raise anything, and the output must still be delivered.
            raise TokenizerFailed(f"the plug-in {self.name!r} failed: {error!r}") from error
        if sum(lengths) != len(text.encode()) or min(lengths, default=1) < 1:
            raise TokenizerFailed(f"the lengths from the plug-in {self.name!r} do not add up to the text")
        if max(lengths, default=1) > self.longest_token_bytes:
            raise TokenizerFailed(f"the plug-in {self.name!r} has a token above its longest_token_bytes")
        return lengths


class PluginFamily:
    """The names of all installed entry points."""

    # Listing the entry points takes too long for a completion.
    names = ()

    def open(self, name: str, env: Environment | None = None) -> PluginTokenizer | None:
        from importlib.metadata import entry_points

        for entry in entry_points(group=GROUP, name=name):
            try:
                plugin = entry.load()()
            except Exception as error:
                # Code of another package can raise anything. No command has run yet, so refuse the call.
                raise TokenizerUnavailable(
                    f"--tokenizer: the plug-in {name!r} cannot be loaded: {error!r}"
                ) from error
            return PluginTokenizer(name, plugin)
        return None

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return "" if self.open(name) else None


FAMILY = PluginFamily()
