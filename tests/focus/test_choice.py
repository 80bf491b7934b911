"""The choice of lines for `--keep focus`: within the limit, in order, full, and never without both ends."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tokcap.focus.choice import Text, choose, choose_from
from tokcap.focus.survey import survey as survey_of

GAP_TOKENS = 12
LINE = st.sampled_from(
    (
        "",
        "compiling module 17",
        "compiling module 18 with more options than any other module has",
        "src/cart.c:3:5: error: unknown type name 'totl'",
        "    3 | totl sum;",
        "      | ^~~~",
        "warning: unused variable",
        "== Results ==",
        "5 failed, 3 passed",
        "a long line " * 30,
    )
)
LINES = st.lists(LINE, min_size=1, max_size=120)


def survey(lines, *, failed=True):
    return survey_of(["".join(f"{line}\n" for line in lines).encode()], failed=failed)


def cost_of(lines):
    """A stand-in for a tokenizer: a token for every four characters, and one for the line end."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) // 4 + 1)
    return lambda first, end: starts[end] - starts[first]


def price(ranges, total, cost):
    """The tokens of the answer: the lines that are shown, and a gap for each part that is not."""
    tokens, place = 0, 0
    for first, end in ranges:
        tokens += cost(first, end) + GAP_TOKENS * (first > place)
        place = end
    return tokens + GAP_TOKENS * (place < total)


@given(LINES, st.integers(20, 2000), st.booleans())
def test_the_answer_is_within_the_limit_and_in_order(lines, limit, failed):
    cost = cost_of(lines)
    ranges = choose(survey(lines, failed=failed), limit, cost, GAP_TOKENS)
    assert price(ranges, len(lines), cost) <= limit
    borders = [border for shown in ranges for border in shown]
    assert borders == sorted(set(borders))
    assert all(0 <= first < end <= len(lines) for first, end in ranges)


@given(LINES, st.integers(200, 2000))
def test_everything_is_shown_if_it_fits_and_the_limit_is_full_otherwise(lines, limit):
    cost = cost_of(lines)
    total = cost(0, len(lines))
    ranges = choose(survey(lines), limit, cost, GAP_TOKENS)
    if total <= limit - GAP_TOKENS:
        assert ranges == ((0, len(lines)),)
    else:
        longest = max(cost(n, n + 1) for n in range(len(lines)))
        # The next line may be too long for what is left.
        assert price(ranges, len(lines), cost) > min(0.9 * limit, limit - longest - 2 * GAP_TOKENS)


@given(LINES, st.integers(150, 2000))
def test_both_ends_are_shown_if_they_are_not_long(lines, limit):
    lines = ["first line", *lines, "last line"]
    ranges = choose(survey(lines), limit, cost_of(lines), GAP_TOKENS)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(lines)


def test_the_one_error_in_the_middle_is_shown():
    lines = [f"compiling module {n}" for n in range(600)]
    lines[300] = "src/cart.c:3:5: error: unknown type name 'totl'"
    ranges = choose(survey(lines), 120, cost_of(lines), GAP_TOKENS)
    assert any(first <= 300 < end for first, end in ranges)


def test_the_tenth_of_a_kind_does_not_crowd_out_another_failure():
    lines = [f"disk {n}: error: cannot write" for n in range(500)]
    lines[250] = "panic: the file system is gone"
    ranges = choose(survey(lines), 200, cost_of(lines), GAP_TOKENS)
    assert any(first <= 250 < end for first, end in ranges)


@given(LINES, LINES, st.integers(60, 2000))
def test_two_texts_share_one_limit(out, err, limit):
    texts = [Text(survey(lines), cost_of(lines)) for lines in (out, err)]
    chosen = choose_from(texts, limit, GAP_TOKENS)
    spent = sum(
        price(ranges, len(lines), text.cost)
        for ranges, lines, text in zip(chosen, (out, err), texts, strict=True)
    )
    assert spent <= limit


def test_the_text_that_says_why_gets_the_larger_part():
    noise = [f"compiling module {n}" for n in range(400)]
    names = ["".join(letters) for letters in product("ghijklm", repeat=3)][:60]
    reasons = [f"src/{name}.c:3:1: error: unknown type name '{name}'" for name in names]
    texts = [Text(survey(lines), cost_of(lines)) for lines in (noise, reasons)]
    tokens = [
        sum(text.cost(first, end) for first, end in ranges)
        for text, ranges in zip(texts, choose_from(texts, 500, GAP_TOKENS), strict=True)
    ]
    assert tokens[1] > tokens[0] > 0


def test_the_middle_of_a_log_is_shown_by_examples_that_are_spread_over_it():
    """Once the ends have their share, each template is shown in several parts of the text."""
    verbs = ("opened", "closed", "renewed", "moved", "checked", "locked", "copied", "merged", "split", "sent")
    lines = [f"{verbs[n * n % 53 % 10]} the session of client {n} after {n * 7} ms" for n in range(1500)]
    cost, limit = cost_of(lines), 2000
    ranges = choose(survey(lines, failed=False), limit, cost, GAP_TOKENS)
    assert (ranges[0][0], ranges[-1][1]) == (0, len(lines))
    assert cost(*ranges[0]) + cost(*ranges[-1]) <= 0.5 * limit
    shown = [line for first, end in ranges[1:-1] for line in range(first, end)]
    assert {line * 4 // len(lines) for line in shown} == {0, 1, 2, 3}
    assert {lines[line].split()[0] for line in shown} == set(verbs)
