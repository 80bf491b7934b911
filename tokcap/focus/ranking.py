"""The value of a unit: by its kind, by how rare it is, and by whether the command failed.

This is the only place where candidates get a value. The choice compares values with what units cost.
"""

from __future__ import annotations

from tokcap.focus.units import Unit
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.focus.units import Draft, Findings

# Values by kind: after a failure, and after a success.
WEIGHTS = {
    "interest": (40.0, 40.0),
    "answer": (18.0, 18.0),
    "crash": (12.0, 8.0),
    "summary": (14.0, 6.0),
    "error": (10.0, 6.0),
    "failed": (7.0, 5.0),
    "trouble": (5.0, 3.0),
    "warning": (1.5, 1.5),
    "heading": (1.0, 3.4),
    "commit": (1.0, 3.3),
    "definition": (1.0, 3.3),
    "hunk": (0.25, 1.4),
    "outlier": (0.8, 8.0),
    "example": (3.0, 4.5),
    "sample": (1.0, 1.0),
}

# Kinds whose value does not depend on how many others are like them.
STANDING = frozenset(("outlier", "interest", "answer", "commit"))
PARTS = frozenset(("heading", "definition", "hunk"))
MANY_PARTS = 100
EARLY_BONUS = 0.2
# Kinds that prose and source code can be mistaken for.
WORDY = frozenset(("crash", "error", "failed", "trouble", "warning", "outlier", "example"))
PROSE_SHARE, SOURCE_SHARE, CALM = 0.13, 0.02, 0.14
COMMON_LOSS = 0.9
# Lines that explain a failure: their share of its value.
EXPLAINING = {"place": 0.45, "section": 0.35, "detail": 0.35, "subject": 0.8}
# The cause of a failure is rare. After a success, frequent warnings matter most.
RARITY, FREQUENCY = -0.12, 0.1
EXAMPLE_RARITY = 0.2
FIRST_BONUS = 2.0
# The share of failures in files that are rarely worked on, if there are others, and if there are none.
SIDE_SHARE, ONLY_SIDE_SHARE = 0.35, 0.7
# The value of a unit that shows how a payload is built, after a failure and after a success.
LANDMARK_VALUES = (2.5, 5.0)
# A unit below this value is dropped.
LEAST_VALUE = 0.01


class Facts(Record):
    """What is known about a text as a whole."""

    # Whether the command failed; None if that is not known.
    failed: bool | None
    total_lines: int
    # How many lines were examined, and how many of them are like no other.
    examined: int
    single_lines: int
    # How many lines each group and each kind have.
    group_counts: Sequence[int]
    kind_counts: Mapping[str, int]
    # Shares of words that prose and source code are full of.
    prose: float
    source: float

    @property
    def sameness(self) -> float:
        """From 0 for prose, where every line is of its own kind, to 1 for logs."""
        return max(0.0, 1 - (len(self.group_counts) + self.single_lines) / max(self.examined, 1))

    def weight_of(self, kind: str) -> float:
        """Return the value of a kind in this text."""
        after_failure, after_success = WEIGHTS[kind]
        if self.failed is None:
            value = (after_failure + after_success) / 2
        else:
            value = after_failure if self.failed else after_success
        # What nearly every line says is not worth much.
        value *= 1 - COMMON_LOSS * min(self.kind_counts.get(kind, 0) / max(self.examined, 1), 1.0)
        is_wordy = self.prose > PROSE_SHARE or self.source > SOURCE_SHARE
        return value * CALM if is_wordy and kind in WORDY and not self.failed else value


def units_of(drafts: Sequence[Draft], facts: Facts) -> list[Unit]:
    """Return units with their values, in order of the text."""
    weights = {kind: facts.weight_of(kind) for kind in WEIGHTS}
    frequency = RARITY if facts.failed else FREQUENCY
    seen: set[tuple[str, int]] = set()
    best: dict[tuple[int, bool], Unit] = {}
    values: dict[int, float] = {}
    in_main_files = {draft.kind for draft in drafts if not draft.is_side}
    # What explains a failure is worth a share of it, so the failures come first.
    for draft in sorted(drafts, key=lambda draft: draft.explains >= 0):
        kind = draft.kind
        value = weights.get(kind, 0.0) * draft.strength
        if draft.is_side:
            value *= SIDE_SHARE if kind in in_main_files else ONLY_SIDE_SHARE
        count = facts.group_counts[draft.group]
        part_before = draft.line / facts.total_lines
        if draft.explains >= 0:
            value = values.get(draft.explains, 0.0) * EXPLAINING[kind] * draft.strength
        elif kind == "example":
            value *= facts.sameness**2 / (1 if draft.is_novel else count**EXAMPLE_RARITY)
        elif kind == "sample":
            value /= count**EXAMPLE_RARITY
        elif kind == "summary":
            # Results stand at the end, and there are not many.
            value *= (0.6 + 0.4 * part_before**2) / count**0.3
        elif kind in PARTS:
            # What comes first is more often what somebody looks for.
            value *= (1 + EARLY_BONUS * (1 - part_before)) / max(1.0, count / MANY_PARTS) ** 2
        elif kind not in STANDING:
            value *= (1 if draft.is_novel else count) ** frequency
            # The first one of a group is most likely the cause.
            if draft.is_novel or (kind, draft.group) not in seen:
                value *= FIRST_BONUS
                seen.add((kind, draft.group))
        if value <= LEAST_VALUE:
            continue
        key = (draft.line, draft.explains >= 0)
        known = best.get(key)
        if known is None or known.value < value:
            values[draft.line] = max(value, values.get(draft.line, 0.0))
            best[key] = Unit(
                draft.line,
                draft.line + 1,
                kind,
                value,
                0 if draft.is_novel else draft.group,
                draft.repeat,
                draft.about_first,
                draft.about_end,
                draft.explains,
            )
    return [best[key] for key in sorted(best)]


def with_landmarks(findings: Findings, landmarks: Sequence[tuple[int, float]]) -> Findings:
    """Return findings with units that show how a payload is built, each with a weight from 0 to 1."""
    if not landmarks:
        return findings
    value = LANDMARK_VALUES[0] if findings.failed else LANDMARK_VALUES[1]
    known = {unit.first_line for unit in findings.units if unit.value >= value}
    more = [Unit(unit, unit + 1, "part", value * weight) for unit, weight in landmarks if unit not in known]
    units = sorted((*findings.units, *more), key=lambda unit: unit.first_line)
    return findings.replace(units=tuple(units))
