"""Weigh drafts: the value of each unit, by its kind, by how rare it is, and by whether the command failed."""

from __future__ import annotations

from tokcap.findings.found import Unit
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.findings.draft import Draft
    from tokcap.findings.examine import Examination

# Values by kind: after a failure, and after a success.
WEIGHTS = {
    "interest": (40.0, 40.0),
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
}

# Kinds whose value does not depend on how many others are like them.
STANDING = frozenset(("outlier", "interest", "commit"))
PARTS = frozenset(("heading", "definition", "hunk"))
MANY_PARTS = 100
EARLY_BONUS = 0.2
# Kinds that prose and source code can be mistaken for.
WORDY = frozenset(("crash", "error", "failed", "trouble", "warning", "outlier", "example"))
PROSE_SHARE, SOURCE_SHARE, CALM = 0.13, 0.02, 0.14
COMMON_LOSS = 0.9
# Lines that explain a failure: their share of its value.
EXPLAINING = {"place": 0.45, "section": 0.35, "detail": 0.35, "subject": 0.8}
# The cause of a failure is rare. Without a failure, what is said often is what is wrong.
RARITY, FREQUENCY = -0.12, 0.1
EXAMPLE_RARITY = 0.2
FIRST_BONUS = 2.0
# The share of failures in files that are rarely worked on, if there are others, and if there are none.
SIDE_SHARE, ONLY_SIDE_SHARE = 0.35, 0.7


def weigh(
    drafts: Sequence[Draft], examination: Examination, *, failed: bool | None, total_lines: int
) -> list[Unit]:
    """Return the units in order of the text."""
    counts = examination.groups.counts
    examined = max(examination.lines, 1)
    # From 0 for prose, where every line is of its own kind, to 1 for logs.
    sameness = max(0.0, 1 - (len(counts) + examination.single_lines) / examined)
    weights = {kind: weight_of(kind, examination, failed, examined) for kind in WEIGHTS}
    drafts = sorted(drafts, key=lambda draft: draft.explains >= 0)
    frequency = RARITY if failed else FREQUENCY
    seen: set[tuple[str, int]] = set()
    best: dict[tuple[int, bool], Unit] = {}
    values: dict[int, float] = {}
    in_main_files = {draft.kind for draft in drafts if not draft.is_side}
    for draft in drafts:
        kind = draft.kind
        value = weights.get(kind, 0.0) * draft.strength
        if draft.is_side:
            value *= SIDE_SHARE if kind in in_main_files else ONLY_SIDE_SHARE
        count = counts[draft.group]
        if draft.explains >= 0:
            value = values.get(draft.explains, 0.0) * EXPLAINING[kind] * draft.strength
        elif kind == "example":
            value *= sameness * sameness / (1 if draft.is_novel else count**EXAMPLE_RARITY)
        elif kind == "summary":
            # Results stand at the end, and there are not many.
            value *= (0.6 + 0.4 * (draft.line / total_lines) ** 2) / count**0.3
        elif kind in PARTS:
            value /= max(1.0, count / MANY_PARTS) ** 2
            # What comes first is more often what somebody looks for.
            value *= 1 + EARLY_BONUS * (1 - draft.line / total_lines)
        elif kind not in STANDING:
            value *= (1 if draft.is_novel else count) ** frequency
            # The first one of a group is most likely the cause.
            if draft.is_novel or (kind, draft.group) not in seen:
                value *= FIRST_BONUS
                seen.add((kind, draft.group))
        if value <= 0.01:
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


def weight_of(kind: str, examination: Examination, failed: bool | None, examined: int) -> float:
    """Return the value of a kind in this text."""
    after_failure, after_success = WEIGHTS[kind]
    if failed is None:
        value = (after_failure + after_success) / 2
    else:
        value = after_failure if failed else after_success
    # What nearly every line says is not worth much.
    value *= 1 - COMMON_LOSS * min(examination.kind_counts.get(kind, 0) / examined, 1.0)
    if (
        not failed
        and kind in WORDY
        and (examination.groups.prose > PROSE_SHARE or examination.groups.source > SOURCE_SHARE)
    ):
        value *= CALM
    return value
