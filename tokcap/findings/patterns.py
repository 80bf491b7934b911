"""All patterns that a survey needs, to be compiled ahead of time. Surveys do not import this module."""

from __future__ import annotations

from tokcap.findings import examine, explain, false_friends, history, judge, rules, structure

READY = (
    *(pattern for _, pattern in judge.ROWS if pattern is not None),
    *false_friends.READY,
    *structure.READY,
    *history.READY,
    *examine.READY,
    rules.NUMBERED,
    rules.MARKED_LINES,
    explain.PLACE,
)
