"""A shape that is added to the table is recognized, cut, selected from and pointed into."""

import json

import pytest

from tests.support.reference import recount
from tokcap.shapes import SHAPES

DATA = b"".join(b"name%d=value %d\n" % (n, n) for n in range(200))


@pytest.fixture(autouse=True)
def settings():
    SHAPES.add("settings", "tests.support.toys.shape:SETTINGS")
    yield
    SHAPES.remove("settings")


def meta_of(ran):
    return json.loads(ran.out.splitlines()[-1])["meta"]


def test_it_is_recognized_and_cut(inside):
    # The first line keeps the quick look from calling it text.
    data = b'"a",b=1\n' + DATA
    ran = inside("-n", "210", "-o", "jsonl", stdin=data)
    assert meta_of(ran)["shape"] == "settings"
    assert meta_of(ran)["total_count"] == 201
    assert recount(inside("-n", "60", stdin=data).out) <= 60


def test_it_can_be_declared(inside):
    ran = inside("-n", "210", "-o", "jsonl", "--shape", "settings", stdin=DATA)
    assert meta_of(ran)["shape"] == "settings"
    assert b"settings" in inside("--help", "all").out


def test_its_fields_are_selected(inside):
    ran = inside("--shape", "settings", "--fields", "name7,name9", "-n", "90", stdin=DATA)
    assert ran.out == b"name7=value 7\nname9=value 9\n"


def test_it_is_summarized(inside):
    ran = inside("--shape", "settings", "--mode", "summary", "-n", "900", stdin=DATA)
    assert ran.out.startswith(b"settings, 200 lines")


def test_a_stored_output_is_pointed_into(inside, with_store):
    inside("-n", "20", "--shape", "settings", stdin=DATA)
    ran = inside("show", "@last", "--shape", "settings", "--pointer", "/name8")
    assert ran.out == b"value 8"
