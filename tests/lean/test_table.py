"""A family's table: members by name, loaded when they are used."""

import sys

import pytest

from tokcap.lean.table import Table


def test_a_member_is_loaded_when_it_is_first_used():
    sys.modules.pop("colorsys", None)
    table: Table[object] = Table(convert="colorsys:rgb_to_hsv")
    assert "convert" in table
    assert "colorsys" not in sys.modules
    assert table["convert"] is sys.modules["colorsys"].rgb_to_hsv


def test_a_table_lists_its_names_in_order():
    table: Table[object] = Table(b="x:y", a="x:z")
    table.add("c", "x:w")
    assert list(table) == ["b", "a", "c"]
    table.remove("b")
    assert list(table) == ["a", "c"]
    assert len(table) == 2


def test_an_unknown_name_is_a_key_error():
    with pytest.raises(KeyError):
        Table()["nothing"]


def test_a_member_that_is_added_again_replaces_the_old_one():
    table: Table[object] = Table(path="os:sep")
    assert table["path"] == "/"
    table.add("path", "os:curdir")
    assert table["path"] == "."
