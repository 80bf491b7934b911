"""The benchmarks measure what they say: peers without a network, targets as stated, no word lost."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import environments, inputs, measure, records, report, startup, structured, subcommands, work
from tests.support.program import ROOT
from tests.support.reference import ENCODINGS
from tests.support.tiers import nightly

COUNT = "import sys, tiktoken; print(tiktoken.get_encoding(sys.argv[1]).encode_ordinary('Well, well.'))"


@nightly
def test_the_peer_finds_its_vocabularies_in_the_restored_cache(tmp_path):
    fill = [sys.executable, "-c", environments.FILL_CACHE, str(tmp_path)]
    subprocess.run(fill, check=True, cwd=ROOT)
    # Nothing listens there: a download would fail, and a table that is not the published one is downloaded.
    closed = {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    for name in ENCODINGS:
        done = subprocess.run(
            [sys.executable, "-c", COUNT, name],
            env={**os.environ, **closed, "TIKTOKEN_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(done.stdout.split()) == 4


def test_a_target_is_reached_at_its_bound_and_not_above():
    line = work.Line("call", "peer", at_most=1.5, plus_seconds=0.5)
    assert line.target == "1.5 × peer + 500 ms"
    assert line.reached({"call": 3.5, "peer": 2.0}) is True
    assert line.reached({"call": 3.6, "peer": 2.0}) is False
    reading = work.Line("call", at_most=2, plus_work="reading")
    assert reading.reached({"call": 2.5, work.FLOOR: 1.0, "reading": 1.5}) is True
    assert work.Line("call").reached({}) is None


def test_ratios_are_taken_within_a_round_and_rounds_that_left_work_out_do_not_count():
    assert report.ratios([2.0, None, 9.0], [1.0, 1.0, 3.0]) == [2.0, 3.0]


def test_a_run_replaces_the_results_and_nothing_else(tmp_path, monkeypatch):
    readme = tmp_path / "README.md"
    begin, end = report.RESULTS.begin, report.RESULTS.end
    readme.write_text(f"before\n{begin}\nold\n{end}\nWhat remains: a word of ours\n")
    monkeypatch.setattr(report, "README", readme)
    rows = [report.Row("call", "1 ms", "1", "", "", "yes")]
    report.write_readme(rows, "versions", 3, ["cost.png"])
    text = readme.read_text()
    assert "| call | 1 ms |" in text
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith(f"{end}\nWhat remains: a word of ours\n")


def test_an_input_has_its_size_and_nothing_that_the_peer_gives_up_on(tmp_path):
    found = inputs.make_inputs(tmp_path, {"35 KB": 35_000})
    assert found["35 KB"].stat().st_size == 35_000
    assert b"<|" not in found["35 KB"].read_bytes()
    assert 30_000 < found["JSON"].stat().st_size < 40_000


def test_the_same_records_are_written_in_every_shape(tmp_path):
    places = {shape: tmp_path / shape for shape in records.SHAPES}
    number = records.write_records(places, 300_000)
    document = json.loads(places["json"].read_text())
    assert len(document) == number
    assert 300_000 <= places["json"].stat().st_size < 600_000
    assert [json.loads(line) for line in places["jsonl"].read_text().splitlines()] == document
    with open(places["csv"], newline="") as table:
        names, *rows = csv.reader(table)
    assert names == [*document[0]]
    assert [row[:2] for row in rows] == [[str(one["id"]), one["name"]] for one in document]


@nightly
def test_structured_calls_are_measured_next_to_the_parser_and_replace_their_own_results(
    tmp_path, monkeypatch
):
    programs = environments.Environments(*[Path(sys.executable).parent] * 3, tmp_path)
    monkeypatch.setattr(structured, "MEGABYTE", 250_000)
    rows = structured.measure(programs, 1, 1, tmp_path)
    assert [row[0] for row in rows][1:] == [call.name for call in structured.calls_of(1, 1)]
    readme = tmp_path / "README.md"
    of_others, own = report.RESULTS, structured.RESULTS
    readme.write_text(f"{of_others.begin}\nof others\n{of_others.end}\n{own.begin}\nold\n{own.end}\nafter\n")
    monkeypatch.setattr(report, "README", readme)
    own.write(1, report.as_markdown(structured.HEAD, rows))
    text = readme.read_text()
    assert "of others" in text
    assert "| --mode summary |" in text
    assert "old" not in text
    assert text.endswith(f"{own.end}\nafter\n")


@nightly
def test_every_subcommand_that_is_measured_succeeds(tmp_path):
    """A call that fails ends the whole run."""
    programs = environments.Environments(*[Path(sys.executable).parent] * 3, tmp_path)
    works, lines = subcommands.subcommand_works(programs, tmp_path)
    assert {line.work for line in lines} == {each.name for each in works}
    for each in works:
        measure.seconds(each, programs.variables(tmp_path))


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("lib/site-packages/tokcap/tokens/index.py:reach", "counting"),
        ("tokcap/lib/site-packages/tokcap/store/shelf.py:put", "storing"),
        ("tokcap/lib/site-packages/tokcap/environment.py:write_stdout", "writing"),
        ("tokcap/lib/site-packages/tokcap/steps/capture.py:capture", "reading"),
        ("tokcap/lib/site-packages/tokcap/cli/arguments.py:parse", "reading the call"),
    ],
)
def test_a_profile_is_divided_by_the_rooms_of_the_code(place, step):
    assert startup.step_of(place) == step
