"""The benchmark of usefulness: its outputs are well-formed, and it measures what tokcap really shows."""

from __future__ import annotations

import json

import pytest

from benchmarks.useful import policies, recall, written
from benchmarks.useful.needles import is_found, plain
from benchmarks.useful.outputs import OWN, load

OUTPUTS = {output.id: output for output in load(OWN)}
RESULTS = json.loads(written.RESULTS.read_text())
# Small ones of different kinds: two streams, one stream, CSV, JSON.
SAMPLE = ("go-test-panic", "perl-prove", "psql-csv", "terraform-show-json", "tcl-trace")
LARGEST_BYTES = 300_000
LARGEST_SUM_BYTES = 3_000_000


@pytest.fixture
def replays(tmp_path, with_store):
    return policies.Replays(tmp_path)


def test_outputs_have_different_names_and_no_file_is_left_over():
    rows = json.loads((OWN / "corpus.json").read_text())
    assert len({row["id"] for row in rows}) == len(rows)
    assert {path.stem for path in (OWN / "raw").iterdir()} == set(OUTPUTS)
    assert sum(path.stat().st_size for path in (OWN / "raw").iterdir()) < LARGEST_SUM_BYTES


def test_every_needle_is_in_its_output_and_the_order_covers_both_streams():
    for output in OUTPUTS.values():
        text = plain(output.merged.decode("utf-8", "replace"))
        assert 1 <= len(output.needles) <= 5, output.id
        assert all(is_found(needle, text) for needle in output.needles), output.id
        assert output.ask
        assert output.command
        assert 0 < len(output.merged) == sum(len(output.stream(name)) for name in "oe") < LARGEST_BYTES


def test_the_results_are_those_of_the_outputs_and_policies_of_today(replays):
    """If this fails, run `python -m benchmarks.useful --write`."""
    assert RESULTS["outputs"] == {
        output.id: {"tokens": output.tokens, "needles": len(output.needles)} for output in OUTPUTS.values()
    }
    found = policies.all_policies(replays)
    assert list(RESULTS["policies"]) == list(found)
    for wanted in SAMPLE:
        for policy in found.values():
            now = recall.measure(OUTPUTS[wanted], policy, 500)
            then = RESULTS["policies"][policy.name]["found"]["500"][wanted]
            assert then == now.found, (policy.name, wanted)
            assert now.keeps_limit
            assert now.keeps_status
            assert now.parses


def test_the_guide_has_the_table_of_the_results():
    text = written.GUIDE.read_text()
    assert written.with_table(text) == text, "run python -m benchmarks.useful --write"
    assert f"on {len(OUTPUTS)} outputs of real commands" in text
    assert f"`outputs/` has {len(OUTPUTS)} outputs" in (OWN.parent / "README.md").read_text()
