"""Records behave like frozen dataclasses."""

import pytest

from tokcap.lean.record import Record


class Point(Record):
    x: int
    y: int = 2


def test_fields_are_set_by_position_by_name_and_by_default():
    assert Point(1) == Point(x=1, y=2) == Point(1, y=2)
    assert Point(1) != Point(3)
    assert hash(Point(x=1, y=2)) == hash(Point(y=2, x=1))
    assert repr(Point(y=2, x=1)) == repr(Point(x=1, y=2))
    assert repr(Point(1)) == "Point(x=1, y=2)"


def test_a_record_is_frozen_and_can_be_copied_with_changes():
    point = Point(1)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 5
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    assert point.but(y=9) == Point(1, 9)
    assert point == Point(1)


@pytest.mark.parametrize(("args", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_missing_unknown_and_repeated_values_are_refused(args, named):
    with pytest.raises(TypeError):
        Point(*args, **named)
