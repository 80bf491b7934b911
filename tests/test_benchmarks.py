"""The benchmarks measure what they say: peers without a network, targets as stated, no word lost."""

import os
import subprocess
import sys
from pathlib import Path

from benchmarks import environments, measure, report, structured, subcommands
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
