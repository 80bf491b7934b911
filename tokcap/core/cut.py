"""Cuts: which window of a payload is asked for, and what of the payload is shown in it.

*window*  the tokens from `offset` to `offset + limit`; the reader gets what fits
*mark*    the sentinel text at the place where something was left out
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import Align, Keep
    from tokcap.core.tokenizer import TokenMap

    ValuesStyle: TypeAlias = Literal["array", "object", "lines", "bare"]
    Part: TypeAlias = "Kept | Mark | Values"
    # What a composed answer costs in tokens. Only a count of the final text is a proof.
    Cost: TypeAlias = Callable[[tuple[Part, ...]], int]
    CutShape: TypeAlias = Callable[[Payload, TokenMap, "Ask", Cost], "Cut"]


class Kept(Record):
    """Bytes of the payload, unchanged."""

    data: bytes


class Mark(Record):
    """The mark at a cut, with the note that follows it if there is room."""

    text: str
    note: str = ""
    # How many records it stands for, if others follow it.
    hidden: int | None = None
    # Its row in a table, with the line end; empty if it is not in a table.
    row: bytes = b""


class Values(Record):
    """JSON values side by side, each as its source text, with the mark among them if they are cut."""

    # What holds them together: an array, an object (each value then includes its key), lines, or
    # nothing: one bare value.
    style: ValuesStyle
    items: tuple[bytes | Mark, ...]
    # Whether the source ended with a newline.
    newline: bool = True
    # The whole payload, if all of it is shown: text form passes it on unchanged.
    source: bytes = b""


class Ask(Record):
    """Which window is asked for, and how its mark is worded."""

    limit: int | None
    offset: int
    keep: Keep
    align: Align
    sentinel: str
    # The command that fetches the rest; `{}` is the next offset.
    way: str = "--token-offset {}"
    # What is counted, if not the output itself: "stderr ".
    label: str = ""
    # What else the mark has to say.
    remark: str = ""
    # False if bytes are counted instead of tokens.
    exact: bool = True
    # Number of payload bytes already written: the window has to start with them.
    passed: int = 0
    # Which end is kept if there is room for only one.
    rather: Literal["head", "tail"] = "head"


class Gap(Record):
    """Tokens that were left out, from `first` up to but not including `end`; None: to the end."""

    first: int
    end: int | None = None
    # Whether they were never stored because the store's limit was reached.
    lost: bool = False


class Cut(Record):
    """What is shown of a payload, in order, and what is not."""

    parts: tuple[Part, ...]
    first_token: int
    gap: Gap | None
    hint: str = ""
    # For structured payloads: where the window starts and continues, and how many records it has.
    first_pointer: str | None = None
    next_pointer: str | None = None
    returned_count: int | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it contains nothing of the payload."""
        return not any(
            isinstance(part, Kept)
            or (isinstance(part, Values) and any(not isinstance(item, Mark) for item in part.items))
            for part in self.parts
        )
