"""All patterns that a survey needs, to be compiled ahead of time. Surveys do not import this module."""

from __future__ import annotations

from tokcap.findings import examine, explain, false_friends, history, rules, structure
from tokcap.lean.patterns import later

READY = (
    *(later(pattern) for _, _, _, pattern in rules.RULES if pattern),
    *false_friends.READY,
    *structure.READY,
    *history.READY,
    *examine.READY,
    rules.NUMBERED,
    rules.MARKED_LINES,
    explain.PLACE,
)
