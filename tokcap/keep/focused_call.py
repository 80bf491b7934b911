"""The choice of `--keep focus` in one call: survey the units once, then choose for each limit."""

from __future__ import annotations

from tokcap.core.cut import Choice, Found, gaps_between
from tokcap.findings.found import Unit
from tokcap.findings.survey import Survey
from tokcap.keep.attention import Text, choose, choose_from
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Circumstances, PricedText, Surveyable, WholeMaterial
    from tokcap.core.payload import Payload
    from tokcap.findings.found import Findings

# The answer is made again with another budget until it uses this part of the limit, but not more often.
WELL_FILLED = 0.95
# The value of a unit that shows how a payload is built, after a failure and after a success.
LANDMARK_VALUES = (2.5, 5.0)
PROPORTIONAL_ATTEMPTS, MOST_ATTEMPTS = 4, 8


class FocusedCall:
    """The policy for one call, with what it found in each payload."""

    def __init__(self, circumstances: Circumstances) -> None:
        self._circumstances = circumstances
        self._surveyed: list[tuple[Payload, int, Findings]] = []

    def choose_from(self, material: WholeMaterial) -> Choice | None:
        """Return the units to show: as many as fit, proven by the price of the whole answer."""
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

    def find_in(self, text: Surveyable) -> tuple[Found, ...]:
        """Return the units that matter most."""
        return tuple(Found(found.line, found.kind) for found in self._findings(text).found)

    def divide(self, limit: int, texts: Sequence[PricedText]) -> Sequence[int]:
        """Return how many tokens of a limit each text should get."""
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
        for payload, count, findings in self._surveyed:
            if payload is text.payload and count == text.count:
                return findings
        survey = Survey(
            failed=self._circumstances.failed,
            interest=self._circumstances.interest,
            size_bytes=text.payload.size,
        )
        for block in text.blocks():
            survey.feed(block)
        findings = with_landmarks(survey.finish(), text.landmarks())
        self._surveyed.append((text.payload, text.count, findings))
        return findings


def with_landmarks(findings: Findings, landmarks: Sequence[tuple[int, float]]) -> Findings:
    """Return findings with units that show how the payload is built."""
    if not landmarks:
        return findings
    value = LANDMARK_VALUES[0] if findings.failed else LANDMARK_VALUES[1]
    known = {unit.first_line for unit in findings.units if unit.value >= value}
    more = [Unit(unit, unit + 1, "part", value * weight) for unit, weight in landmarks if unit not in known]
    units = sorted((*findings.units, *more), key=lambda unit: unit.first_line)
    return findings.but(units=tuple(units))
