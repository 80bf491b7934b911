"""The benchmark of usefulness: its outputs are well-formed, and it measures what tokcap really shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from benchmarks.useful import agents, policies, recall, replay, report, structure, written
from benchmarks.useful.needles import is_found, plain
from benchmarks.useful.outputs import OWN, count, load
from tests.support.program import ROOT
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap.keep import KEEPS

OUTPUTS = {output.id: output for output in load(OWN)}
RESULTS = json.loads(written.RESULTS.read_text())
# Small ones of different kinds: two streams, one stream, CSV, JSON.
SAMPLE = ("go-test-panic", "perl-prove", "psql-csv", "terraform-show-json", "tcl-trace")
LARGEST_BYTES = 300_000
LARGEST_SUM_BYTES = 3_000_000


@pytest.fixture
def replays(tmp_path, with_store):
    return policies.Replays(tmp_path)


def test_a_needle_is_found_across_blanks_line_ends_and_colours():
    shown = plain("src/a.c:3:1: \x1b[31m\x1b[Kerror:\x1b[m\x1b[K no\n   member\t'x'\r\n")
    assert is_found(["error: no member 'x'"], shown)
    assert is_found(["a.c:3:1:  error:"], shown)
    assert not is_found(["error: no members"], shown)


def test_the_other_texts_of_a_needle_must_be_near_its_first_text():
    near, far = "x" * 590, "x" * 610
    assert is_found(["FAILED", "left: 1", "right: 2"], f"left: 1 {near} FAILED {near} right: 2")
    assert not is_found(["FAILED", "right: 2"], f"FAILED {far} right: 2")
    assert is_found(["FAILED", "right: 2"], f"FAILED {far} FAILED right: 2"), "near any of its places"


def test_links_and_titles_of_terminals_are_not_text():
    assert plain("\x1b]8;;http://a.b/\x1b\\here\x1b]8;;\x1b\\ \x1b]0;title\x07\x1b(Bdone") == "here done"


def test_a_replay_writes_both_streams_in_their_order_and_exits_with_the_status(tmp_path):
    pieces = [("o", b"one\n"), ("e", b"two o 3\n"), ("o", b"\xff\x00"), ("e", b""), ("o", b"x" * 200_000)]
    path = tmp_path / "pieces"
    path.write_bytes(replay.pieces_file(pieces))
    command = [sys.executable, replay.__file__, str(path), "7"]
    apart = subprocess.run(command, capture_output=True, check=False)
    assert (apart.stdout, apart.stderr) == (b"one\n\xff\x00" + b"x" * 200_000, b"two o 3\n")
    joined = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert joined.stdout == b"".join(data for _, data in pieces)
    assert joined.returncode == 7


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


def test_outputs_have_no_path_of_a_home_or_a_checkout_of_ours():
    ours = re.compile(rb"/root/|/Users/|" + re.escape(str(ROOT).encode()))
    assert [output.id for output in OUTPUTS.values() if ours.search(output.merged)] == []


@pytest.mark.parametrize("limit", [200, 500, 2000])
@pytest.mark.parametrize("name", agents.AGENTS)
def test_rules_of_agents_keep_the_limit_by_recount_and_use_it(name, limit):
    _, rule = agents.AGENTS[name]
    for wanted in SAMPLE:
        output = OUTPUTS[wanted]
        shown = rule(output, limit)
        assert recount(shown) <= limit, output.id
        if limit < output.tokens:
            assert recount(shown) > limit * 0.8, output.id


def test_rules_of_agents_show_the_part_that_they_are_named_for():
    output = OUTPUTS["perl-prove"]
    text = output.merged
    start, end = text[:100], text[-100:]
    shown = {name: rule(output, 600) for name, (_, rule) in agents.AGENTS.items()}
    assert {name for name, data in shown.items() if data.startswith(start)} == {
        *("halves", "20-80", "first-bytes", "head-c"),
    }
    assert {name for name, data in shown.items() if data.endswith(end)} == {
        *("halves", "20-80", "last-lines", "tail-c"),
    }
    head, _, tail = shown["halves"].partition(agents.GAP)
    assert abs(count(head) - count(tail)) < 30
    head, _, tail = shown["20-80"].partition(agents.GAP)
    assert 3 < count(tail) / count(head) < 5
    assert b"\n" + shown["last-lines"] in text


def test_every_keep_policy_is_measured(replays):
    assert list(policies.all_policies(replays)) == [*KEEPS, "summary", *agents.AGENTS]


@pytest.mark.parametrize("wanted", [SAMPLE[0], *map(as_nightly, SAMPLE[1:])])
@pytest.mark.parametrize("merge", [False, as_nightly(True)], ids=["separate", "merge"])
@pytest.mark.parametrize(
    "option", [*(("--keep", name) for name in KEEPS), ("--mode", "summary")], ids=" ".join
)
def test_the_library_shows_the_bytes_of_the_command_line(option, merge, wanted, tmp_path, with_store):
    replays = policies.Replays(tmp_path, merge)
    flag, name = option
    policy, output = policies.all_policies(replays)[name], OUTPUTS[wanted]
    words = (flag, name, "--stderr", "merge" if merge else "separate", "--", *replays.command(output))
    done = subprocess.run(
        [sys.executable, "-m", "tokcap", "-n", "700", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    shown = policy.show(output, 700)
    assert (shown.out, shown.err, shown.status) == (done.stdout, done.stderr, done.returncode)
    assert done.returncode == output.exit


def test_structure_is_recognised_and_a_cut_in_the_middle_of_it_is_not_valid():
    document, lines, table = b'{"a": [1, 2]}', b'{"a": 1}\n[2]\n', b'a,b\n1,"x\ny"\n'
    assert structure.structure_of(document, "json") == "json"
    assert structure.structure_of(lines, "log") == "jsonl"
    assert structure.structure_of(table, "table") == "csv"
    assert structure.structure_of(table, "log") == ""
    assert structure.structure_of(b"17\n", "log") == ""
    assert not structure.is_json(document[:-1])
    assert not structure.is_json_lines(lines[:-2])
    assert not structure.is_csv(table[:-3])


def test_a_document_with_messages_in_it_is_text_once_the_streams_are_merged():
    output = OUTPUTS["curl-verbose"]
    assert output.structure_of(merged=False) == "json"
    assert output.structure_of(merged=True) == ""


def measured(output: str, policy: str, found: int, **other):
    missing = (("x",),) * (4 - found)
    return recall.Measured(output, policy, 500, 4, missing, other.pop("tokens", 500), False, **other)


def test_recall_is_the_mean_of_the_outputs_and_worse_means_by_more_than_one_needle():
    some = [
        measured("a", "ends", 3),
        measured("b", "ends", 4),
        measured("a", "tail", 2),
        measured("b", "tail", 2),
    ]
    assert recall.recall_of(some[:2]) == 87.5
    assert recall.worse_than_reference(some) == [(some[3], some[1])]
    assert "more than one needle: tail 1" in report.checks(some)
    assert "tail           500  b                        2/4 (ends: 4)  x | x" in report.by_output(some)


def test_the_report_names_every_answer_that_breaks_a_promise():
    text = report.checks(
        [
            measured("long", "ends", 4, tokens=501),
            measured("lost", "ends", 4, keeps_status=False),
            measured("torn", "ends", 4, parses=False),
        ]
    )
    assert "within the limit by recount: 2 of 3" in text
    assert "ends 500 long: 501 tokens, over the limit" in text
    assert "ends 500 lost: 500 tokens, another exit status" in text
    assert "ends 500 torn: 500 tokens, does not parse" in text


def test_a_directory_of_outputs_can_be_measured_from_the_command_line(tmp_path):
    place = tmp_path / "other"
    (place / "raw").mkdir(parents=True)
    row = next(row for row in json.loads((OWN / "corpus.json").read_text()) if row["id"] == "tcl-trace")
    (place / "corpus.json").write_text(json.dumps([row]))
    for path in (OWN / "raw").glob("tcl-trace.*"):
        (place / "raw" / path.name).write_bytes(path.read_bytes())
    options = ["--policy", "ends", "--policy", "head-c", "--limit", "300", "--by-output"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.useful",
            str(place),
            *options,
            "--json",
            str(tmp_path / "results"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(
        r"^policy +300\noutputs larger than the limit +1\ntokcap --keep ends +\d+\nhead -c +0$",
        done.stdout,
        re.MULTILINE,
    )
    assert "within the limit by recount: 2 of 2" in done.stdout
    results = json.loads((tmp_path / "results").read_text())
    assert results["policies"]["head-c"]["found"] == {"300": {"tcl-trace": 0}}


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
            assert RESULTS["policies"][policy.name]["found"]["500"][wanted] == now.found, (
                policy.name,
                wanted,
            )
            assert now.keeps_limit
            assert now.keeps_status
            assert now.parses


def test_recall_in_the_results_is_the_mean_of_what_was_found():
    for policy in RESULTS["policies"].values():
        for limit, found in policy["found"].items():
            shares = [number / RESULTS["outputs"][name]["needles"] for name, number in found.items()]
            assert policy["recall"][limit] == pytest.approx(100 * sum(shares) / len(shares), abs=0.006)
            assert set(found) == {
                name for name, output in RESULTS["outputs"].items() if output["tokens"] > int(limit)
            }


def test_the_guide_has_the_table_of_the_results():
    text = written.GUIDE.read_text()
    assert written.with_table(text) == text, "run python -m benchmarks.useful --write"
    assert f"on {len(OUTPUTS)} outputs of real commands" in text
    assert f"`outputs/` has {len(OUTPUTS)} outputs" in (OWN.parent / "README.md").read_text()


def test_the_picture_has_the_numbers_of_the_results():
    picture = (ROOT / "docs" / "pictures" / "recall.svg").read_text()
    texts = re.findall(r">([^<>]+)</text>", picture)
    for policy in RESULTS["policies"].values():
        at = texts.index(policy["label"].replace("`", "").partition(" (")[0])
        assert texts[at + 1 : at + 4] == [
            f"{policy['recall'][limit]:.0f}" for limit in ("500", "2000", "8000")
        ]
