"""A line that may matter, before it is known how rare it is."""

from __future__ import annotations

# Which drafts are kept if there are too many.
PROMISE = {
    "interest": 100.0,
    "crash": 10.0,
    "summary": 9.0,
    "error": 8.0,
    "failed": 8.0,
    "place": 5.0,
    "section": 5.0,
    "trouble": 4.0,
    "outlier": 3.0,
    "warning": 2.0,
}


class Draft:
    """A line, its kind and group; and for a failure, the lines around it that explain it."""

    __slots__ = (
        "about_end",
        "about_first",
        "explains",
        "group",
        "is_novel",
        "is_side",
        "kind",
        "line",
        "promise",
        "repeat",
        "strength",
    )

    def __init__(self, line: int, kind: str, group: int, strength: float = 1.0, explains: int = -1) -> None:
        self.line = self.about_first = line
        self.about_end = line + 1
        self.kind = kind
        self.group = group
        self.strength = strength
        # The line that this one explains; -1 if it stands for itself.
        self.explains = explains
        # Equal for lines with the same message.
        self.repeat = 0
        # Whether it differs from its group by a word of its own.
        self.is_novel = False
        # Whether it is about a file that is rarely what somebody works on.
        self.is_side = False
        self.promise = PROMISE.get(kind, 1.0) * strength
