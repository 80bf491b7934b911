"""What an agent puts around an output before its model gets it. Only shells for agents load this."""

from __future__ import annotations

from tokcap.lean.record import Record


class Frame(Record):
    """What an agent puts around an output that it passes to its model, as `TOKCAP_FRAME` says: `34:json`."""

    tokens: int = 0
    # Whether the agent writes the output as a JSON string. The model then pays for the escapes.
    is_json: bool = False

    @classmethod
    def read_from(cls, text: str) -> Frame:
        """Return what a variable says; a frame of nothing if that makes no sense."""
        tokens, _, form = text.partition(":")
        if not (tokens.isascii() and tokens.isdecimal() and form in ("", "json")):
            return cls()
        return cls(int(tokens), form == "json")

    def left_of(self, limit_tokens: int) -> int:
        """Return what the frame leaves of a limit. It takes at most a quarter."""
        return limit_tokens - min(self.tokens, limit_tokens // 4)
