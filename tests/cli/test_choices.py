"""Choices that are the members of a family: whatever is in its table is a valid word."""

from __future__ import annotations

import pytest

from tokcap.cli.kinds import Choice
from tokcap.cli.options import OPTIONS
from tokcap.core.request import DEFAULTS, Request, ShowRequest, flag_of
from tokcap.outputs import FORMS
from tokcap.startup.record import Table


@pytest.fixture
def animals():
    return Table(cat="animals:CAT", dog="animals:DOG")


def test_a_member_that_is_registered_later_is_accepted(animals):
    kind = Choice(("auto",), animals)
    assert kind.words == ("auto", "cat", "dog")
    with pytest.raises(ValueError, match="'owl' is not one of auto, cat, dog"):
        kind.read("owl")
    animals.add("owl", "elsewhere:OWL")
    assert kind.read("owl") == "owl"
    assert kind.expected == "one of auto, cat, dog, owl"


def test_every_option_has_its_default_in_the_records():
    assert {option.key for option in OPTIONS} == set(DEFAULTS)
    for option in OPTIONS:
        records = [record for record in (Request(), ShowRequest()) if hasattr(record, option.key)]
        assert records
        assert all(getattr(record, option.key) == option.default for record in records)
        assert flag_of(option.key) == option.flag


def test_every_default_is_a_valid_value():
    for option in OPTIONS:
        if isinstance(option.kind, Choice):
            assert option.kind.read(str(option.default)) == option.default


def test_a_form_that_is_registered_from_outside_is_accepted_by_the_command_line(inside):
    assert inside("-o", "plain", stdin=b"hi\n").status == 125
    FORMS.add("plain", "tokcap.outputs.text:TEXT")
    try:
        assert inside("-o", "plain", stdin=b"hi\n").out == b"hi\n"
        assert b"text, json, jsonl, plain" in inside("show", "--help").out
    finally:
        FORMS.remove("plain")
