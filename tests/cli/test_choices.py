"""Choices that are the members of a family: whatever is in its table is a valid word."""

from __future__ import annotations

import pytest

from tokcap.cli.description import flag_of
from tokcap.cli.kinds import Choice
from tokcap.cli.options import OPTIONS, Option
from tokcap.core.request import DEFAULTS, Request, ShowRequest
from tokcap.core.request import flag_of as flag_of_key
from tokcap.forms import FORMS
from tokcap.lean.table import Table


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


def test_help_and_manifest_name_a_member_that_is_registered_later(animals):
    option = Option(name="shape", kind=Choice(family=animals), help="which animal", group="Animals")
    flag = flag_of(option)
    animals.add("owl", "elsewhere:OWL")
    assert flag.choices == ("cat", "dog", "owl")
    assert option.value_name == flag.value_name == "cat|dog|owl"


def test_names_are_read_without_loading_a_member(animals):
    # The module `animals` does not exist.
    assert Choice(family=animals).read("dog") == "dog"


def test_every_option_has_its_default_in_the_records():
    assert {option.key for option in OPTIONS} == set(DEFAULTS)
    for option in OPTIONS:
        records = [record for record in (Request(), ShowRequest()) if hasattr(record, option.key)]
        assert records
        assert all(getattr(record, option.key) == option.default for record in records)
        assert flag_of_key(option.key) == option.flag


def test_every_default_is_a_valid_value():
    for option in OPTIONS:
        if isinstance(option.kind, Choice):
            assert option.kind.read(str(option.default)) == option.default


def test_a_form_that_is_registered_from_outside_is_accepted_by_the_command_line(inside):
    assert inside("-o", "plain", stdin=b"hi\n").status == 125
    FORMS.add("plain", "tokcap.forms.text:TEXT")
    try:
        assert inside("-o", "plain", stdin=b"hi\n").out == b"hi\n"
        assert b"text, json, jsonl, plain" in inside("show", "--help").out
    finally:
        FORMS.remove("plain")
