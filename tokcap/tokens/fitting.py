"""Fit a profile to texts whose true number of tokens is known: non-negative least squares, deterministic.

The errors are relative: a text of a hundred tokens counts as much as one of a thousand.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tokcap.lean.record import Record
from tokcap.tokens.kinds import BLOCK, ONE_BYTE_KINDS, SCRIPTS, kind_of
from tokcap.tokens.profile import OTHER, OTHER_SCRIPTS, Factors
from tokcap.tokens.profile_tokenizer import LEAST_UNITS, UNITS_PER_TOKEN, pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.tokens.embedded import EmbeddedTokenizer

# Kinds whose tokens are so different in length that the length matters too. All blocks belong here as well.
OF_ANY_LENGTH = (
    *("digits", "blank", "newline", "signs", "signs and newline", "sign and word", "latin"),
    *SCRIPTS,
)
# How strongly a factor is held near the average of all texts. It decides for kinds that hardly occur.
RIDGE = 1e-5
MOST_ROUNDS = 2000
# Stop when no factor changes by more than this.
SETTLED = 1e-7

# A factor: the kind, and whether it is for each byte or for each token.
Column = tuple[str, bool]


class Sample(Record):
    """One text: what its base tokens are, and its true number of tokens."""

    # The file or output that it is from.
    origin: str
    amounts: Mapping[Column, int]
    base_tokens: int
    tokens: int


class Errors(Record):
    """How far counts are off on texts that were held out, in thousandths."""

    mean: int
    most: int
    # The largest number of true tokens for 1,000 estimated ones in a single text, minus 1,000.
    most_above: int


def amounts_of(text: str, base: EmbeddedTokenizer) -> tuple[dict[Column, int], int]:
    """Return the tokens and the bytes of each kind, and the number of base tokens."""
    tokens = Counter(pieces(text.encode(), base.token_lengths(text)))
    found: Counter[Column] = Counter()
    for token, number in tokens.items():
        kind = kind_of(token)
        found[kind, False] += number
        if kind in OF_ANY_LENGTH or kind.startswith(BLOCK):
            found[kind, True] += number * len(token)
    return dict(found), tokens.total()


def fit(samples: Sequence[Sample]) -> Factors:
    """Return the factors that give the counts of the samples with the smallest error."""
    average = sum(sample.tokens for sample in samples) / sum(sample.base_tokens for sample in samples)
    columns = sorted({column for sample in samples for column in sample.amounts})
    solved = least_squares(samples, columns, average)
    by_kind: dict[str, tuple[int, int]] = {}
    for kind in sorted({kind for kind, _ in columns}):
        per_token, per_byte = (
            round(solved.get((kind, is_byte), 0) * UNITS_PER_TOKEN) for is_byte in (False, True)
        )
        by_kind[kind] = per_token, per_byte
    usual = max(round(average * UNITS_PER_TOKEN), LEAST_UNITS)
    by_kind[OTHER] = usual, 0
    # Nothing is known about other scripts. More tokens than in the texts are likely.
    by_kind[OTHER_SCRIPTS] = max(usual, UNITS_PER_TOKEN), 0
    return Factors(by_kind)


def least_squares(
    samples: Sequence[Sample], columns: Sequence[Column], average: float
) -> dict[Column, float]:
    """Minimize the squared relative errors, one factor after the other; none gets negative."""
    size = len(columns)
    number = {column: place for place, column in enumerate(columns)}
    usual = [0.0 if is_byte else average for _, is_byte in columns]
    # A byte is at most one token.
    most = [1.0 if kind in ONE_BYTE_KINDS else float("inf") for kind, _ in columns]
    ridge = RIDGE * len(samples)
    products = [[0.0] * size for _ in columns]
    goals = [ridge * value for value in usual]
    for place in range(size):
        products[place][place] = ridge
    for sample in samples:
        row = [(number[column], amount / sample.tokens) for column, amount in sorted(sample.amounts.items())]
        for place, value in row:
            goals[place] += value
            line = products[place]
            for other, factor in row:
                line[other] += value * factor
    found = [min(value, limit) for value, limit in zip(usual, most, strict=True)]
    for _ in range(MOST_ROUNDS):
        change = 0.0
        for place, line in enumerate(products):
            slope = goals[place] - sum(map(float.__mul__, line, found))
            value = min(max(found[place] + slope / line[place], 0.0), most[place])
            change = max(change, abs(value - found[place]))
            found[place] = value
        if change < SETTLED:
            break
    return dict(zip(columns, found, strict=True))


def units_of(sample: Sample, factors: Factors) -> int:
    """Return the units of a sample, before each token is limited."""
    total = 0
    for (kind, is_byte), amount in sample.amounts.items():
        total += amount * factors.of(kind)[is_byte]
    return total


def errors_of(samples: Sequence[Sample], counted: Sequence[int]) -> Errors:
    """Return the errors of the counts of samples: for each origin, and for each sample."""
    true: Counter[str] = Counter()
    estimated: Counter[str] = Counter()
    most_above = 0
    for sample, tokens in zip(samples, counted, strict=True):
        true[sample.origin] += sample.tokens
        estimated[sample.origin] += tokens
        most_above = max(most_above, round(1000 * sample.tokens / max(tokens, 1)) - 1000)
    errors = [abs(estimated[origin] / true[origin] - 1) for origin in true]
    return Errors(round(1000 * sum(errors) / len(errors)), round(1000 * max(errors)), most_above)
