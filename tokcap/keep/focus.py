"""`--keep focus`: what matters in the whole payload: both ends, failures with their context, what is rare.

A survey reads all units once, then units are chosen for each limit that is tried. If the limit has no room
for gaps, both ends are shown instead. `--keep auto` does the same, or shows a page if there is an offset.
"""

from __future__ import annotations

from tokcap.core.cut import Choice, Circumstances, gaps_between
from tokcap.keep.base import Keep
from tokcap.keep.ends import ENDS
from tokcap.keep.head import HEAD
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.core.cut import (
        Found,
        KeepPolicy,
        Material,
        PricedText,
        Ranges,
        Surveyable,
        SurveyPolicy,
        WholeMaterial,
    )
    from tokcap.core.payload import Payload
    from tokcap.focus.units import Findings

# The answer is made again with another budget until it uses this part of the limit, but not more often.
WELL_FILLED = 0.95
PROPORTIONAL_ATTEMPTS, MOST_ATTEMPTS = 4, 8


class Focus(Keep):
    """Shows the units that matter. Each call has its own, which surveys each payload once.

    What reads texts is loaded only if something has to be left out.
    """

    needs_tail = True

    def __init__(self, circumstances: Circumstances) -> None:
        self._circumstances = circumstances
        # Each payload, with the numbers of units that its text may have: -1 if they are not counted yet.
        self._surveyed: list[tuple[Payload, set[int], Findings]] = []

    @property
    def survey(self) -> SurveyPolicy | None:
        return self

    def for_call(self, circumstances: Circumstances) -> KeepPolicy:
        return Focus(circumstances)

    def choose(self, material: Material) -> Ranges | None:
        """Return both ends. This is asked only where no survey is possible."""
        return ENDS.choose(material)

    def choose_from(self, material: WholeMaterial) -> Choice | None:
        """Return the units to show: as many as fit, proven by the price of the whole answer."""
        from tokcap.focus.choice import choose

        findings = self._findings(material)
        found = self.find_in(material)
        limit = material.limit
        # Marks cost something too, and costs of units do not add up to the price: the budget is corrected.
        marks = material.price_of(Choice(())) - material.gap_tokens
        budget, too_small, too_large = max(limit - marks, 1), 0, 2 * limit
        best: Choice | None = None
        best_price = -1
        attempts = 0
        while attempts < MOST_ATTEMPTS or best is None:
            attempts += 1
            shown = choose(findings, budget, material.tokens_between, material.gap_tokens)
            similar = frozenset(
                first
                for first, end in gaps_between(shown, material.count)
                if first and findings.are_similar(first, end)
            )
            choice = Choice(shown, similar, found)
            price = material.price_of(choice)
            if price <= limit and price > best_price:
                best, best_price = choice, price
            if WELL_FILLED * limit <= price <= limit:
                break
            if price <= limit:
                too_small = budget
            else:
                too_large = budget
            # What is shown grows about in proportion to the budget, at least at first.
            if attempts <= PROPORTIONAL_ATTEMPTS:
                budget = budget * limit // max(price, 1)
            else:
                budget = (too_small + too_large) // 2
            budget = min(max(budget, too_small + 1), too_large - 1)
            if budget <= too_small:
                break
        return best if best and best.shown else None

    def lines_of(self, text: Surveyable) -> tuple[int, Mapping[int, int]]:
        """Return how many lines a text has, and some lines with the bytes where they begin."""
        findings = self._findings(text)
        return findings.total_lines, findings.begins

    def find_in(self, text: Surveyable) -> tuple[Found, ...]:
        """Return the units that matter most."""
        return self._findings(text).found

    def divide(self, limit: int, texts: Sequence[PricedText]) -> Sequence[int]:
        """Return how many tokens of a limit each text should get."""
        from tokcap.focus.choice import Text, choose_from

        gap_tokens = max(text.gap_tokens for text in texts)
        found = choose_from(
            [Text(self._findings(text), text.tokens_between) for text in texts], limit, gap_tokens
        )
        return [
            sum(text.tokens_between(first, end) for first, end in shown)
            + gap_tokens * len(gaps_between(shown, text.count))
            for text, shown in zip(texts, found, strict=True)
        ]

    def _findings(self, text: Surveyable) -> Findings:
        """Return what is in a payload. Each is surveyed once."""
        for payload, counts, findings in self._surveyed:
            if payload is text.payload and text.count in counts:
                return findings
        from tokcap.focus.ranking import with_landmarks
        from tokcap.focus.survey import survey

        circumstances = self._circumstances
        findings = survey(
            text.blocks(), failed=circumstances.failed, interest=circumstances.interest, ask=circumstances.ask
        )
        findings = with_landmarks(findings, text.landmarks())
        self._surveyed.append((text.payload, {text.count, findings.total_lines}, findings))
        return findings


class Auto(Focus):
    """Decides when it knows which page is asked for."""

    def for_call(self, circumstances: Circumstances) -> KeepPolicy:
        # Pages follow one another: each starts where the one before it ended.
        return (HEAD if circumstances.offset else FOCUS).for_call(circumstances)


FOCUS = Focus(Circumstances())
AUTO = Auto(Circumstances())
