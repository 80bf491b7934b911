"""The arithmetic of windows."""

from hypothesis import given
from hypothesis import strategies as st

from tokcap.core.fit import largest_fit
from tokcap.steps.stderr_share import stderr_limit


@given(costs=st.lists(st.integers(0, 1000), max_size=60).map(sorted), limit=st.integers(0, 1000))
def test_the_largest_fit_is_the_largest_where_costs_grow(costs, limit):
    fitting = [n for n, cost in enumerate(costs) if cost <= limit]
    assert largest_fit(len(costs), costs.__getitem__, limit) == (fitting[-1] if fitting else None)


@given(costs=st.lists(st.integers(0, 30), max_size=60), limit=st.integers(0, 30))
def test_the_largest_fit_fits_even_where_costs_jump(costs, limit):
    found = largest_fit(len(costs), costs.__getitem__, limit)
    if found is None:
        assert not costs or costs[0] > limit
    else:
        assert costs[found] <= limit


def test_proportional_costs_take_few_looks():
    looks = []
    found = largest_fit(100_000, lambda n: looks.append(n) or 3 * n + 20, 60_000)
    assert found == 19_993
    assert len(looks) < 24


@given(limit=st.integers(1, 10_000), out=st.integers(0, 10_000), err=st.integers(0, 10_000))
def test_stderr_gets_what_stdout_leaves_and_a_quarter_in_any_case(limit, out, err):
    share = stderr_limit(limit, out, err)
    assert 0 <= share <= min(err, limit)
    assert share == err or share >= max(limit // 4, limit - out)
    assert limit == 1 or err == 0 or share >= 1
