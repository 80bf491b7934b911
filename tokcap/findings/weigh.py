"""Weigh drafts: the value of each unit, by its kind, by how rare it is, and by whether the command failed."""

from __future__ import annotations

from tokcap.findings.found import Unit
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.findings.examine import Draft, Examination

# Values by kind: after a failure, and after a success.
WEIGHTS = {
    "interest": (40.0, 40.0),
    "crash": (12.0, 8.0),
    "summary": (10.0, 5.0),
    "error": (10.0, 6.0),
    "failed": (9.0, 4.0),
    "trouble": (5.0, 3.0),
    "warning": (1.5, 1.5),
    "place": (5.0, 3.0),
    "heading": (1.5, 3.0),
    "definition": (0.6, 2.5),
    "hunk": (0.3, 0.8),
    "outlier": (1.5, 4.0),
    "example": (2.0, 3.0),
}

# Kinds whose value does not depend on how many others are like them.
STANDING = frozenset(("place", "outlier", "interest", "heading", "definition", "hunk"))
RARITY = 0.18
FIRST_BONUS = 1.25


def weigh(drafts: Sequence[Draft], examination: Examination, failed: bool | None, lines: int) -> list[Unit]:
    """Return the units in order of the text."""
    counts = examination.group_counts
    examined = max(examination.examined_lines, 1)
    # From 0 for prose, where every line is of its own kind, to 1 for logs.
    sameness = max(0.0, 1 - (len(counts) + examination.single_lines) / examined)
    seen: set[tuple[str, int]] = set()
    best: dict[int, Unit] = {}
    for draft in drafts:
        after_failure, after_success = WEIGHTS[draft.kind]
        if failed is None:
            value = (after_failure + after_success) / 2
        else:
            value = after_failure if failed else after_success
        value *= draft.strength
        count = counts[draft.group] if draft.group < len(counts) else 1
        if draft.kind == "example":
            value *= sameness * sameness / count**0.3
        elif draft.kind not in STANDING:
            value /= max(count, 1) ** RARITY
            # The first one of a group is most likely the cause.
            if (draft.kind, draft.group) not in seen:
                value *= FIRST_BONUS
                seen.add((draft.kind, draft.group))
        if value <= 0.01:
            continue
        known = best.get(draft.line)
        if known is None or known.value < value:
            best[draft.line] = Unit(
                draft.line,
                draft.end,
                draft.kind,
                value,
                draft.group,
                draft.about_first,
                draft.about_end,
                draft.explains,
            )
    return [best[line] for line in sorted(best)]
