"""What every response mode promises, checked for every mode over every shape; and a mode from outside."""

import json

import pytest

from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.samples import SAMPLES
from tokcap.shapes import MODES, SHAPES
from tokcap.shapes.base import Changed, RunFacts
from tokcap.shapes.modes import Mode

every_mode = pytest.mark.parametrize("name", list(MODES))
every_shape = pytest.mark.parametrize("shape", list(SHAPES))


def changed_by(name, shape):
    data = SAMPLES[shape]
    return MODES[name].changed(
        payload_of(data), SHAPES[shape], RunFacts(handle="abcd", out_bytes=len(data), exit_status=0)
    )


def test_a_mode_has_the_name_that_the_table_gives_it():
    assert [MODES[name].name for name in MODES] == list(MODES)


@every_mode
@every_shape
def test_the_same_payload_gives_the_same_bytes_in_a_known_shape(name, shape):
    shown = changed_by(name, shape)
    assert shown.data == changed_by(name, shape).data
    assert shown.shape in SHAPES
    assert len(shown.data) <= len(SAMPLES[shape])


@every_mode
@every_shape
def test_a_mode_that_shows_the_payload_does_not_change_it(name, shape):
    if MODES[name].shows_payload:
        assert not MODES[name].describes
        assert changed_by(name, shape).data == SAMPLES[shape]


@every_mode
@every_shape
def test_an_answer_stays_within_the_limit(inside, with_store, name, shape):
    for output, limit in (("text", 30), ("text", 200), ("json", 300), ("jsonl", 300)):
        ran = inside("--mode", name, "-n", str(limit), "-o", output, stdin=SAMPLES[shape])
        assert ran.status == 0
        assert recount(ran.out) <= limit


class FirstByte(Mode):
    """A mode of the test: the first byte of an output, and how many follow."""

    name = "first_byte"
    shows_payload = False

    def changed(self, payload, shape, facts):
        return Changed(payload.read(0, 1) + b" and %d more\n" % (payload.size - 1), "text")


FIRST_BYTE = FirstByte()


class TestAModeAddedFromOutside:
    @pytest.fixture(autouse=True)
    def first_byte(self):
        MODES.add("first_byte", f"{__name__}:FIRST_BYTE")
        yield
        MODES.remove("first_byte")

    def test_it_answers_a_call_of_the_command_line(self, inside):
        assert inside("--mode", "first_byte", "-n", "50", stdin=b"word\n").out == b"w and 4 more\n"
        # The schema of the envelope lists the modes, so the envelope is read from JSON Lines.
        *shown, envelope = inside("--mode", "first_byte", "-o", "jsonl", stdin=b"word\n").out.splitlines()
        assert shown == [b'"w and 4 more\\n"']
        assert json.loads(envelope)["meta"]["mode"] == "first_byte"

    def test_it_answers_a_call_for_a_stored_output(self, inside, with_store):
        inside("-n", "20", stdin=SAMPLES["text"])
        ran = inside("show", "@last", "--mode", "first_byte")
        assert ran.out == b"0 and %d more\n" % (len(SAMPLES["text"]) - 1)

    def test_it_is_a_choice_of_the_option(self, inside):
        assert b"first_byte" in inside("--help", "all").out
        assert b"first_byte" in inside("--mode", "nothing", stdin=b"").err
