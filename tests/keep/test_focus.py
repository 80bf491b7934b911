"""`--keep focus`: what matters is shown within the limit, and every gap says in its place what it hides."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.focused import lines_of, taken_apart
from tests.support.payloads import payload_of
from tests.support.reference import recount
from tests.support.samples import SAMPLES, TOKENIZER, Sample
from tokcap.core.cut import Ask, Circumstances
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import SHAPES
from tokcap.tokens import count_bytes
from tokcap.tokens.index import Index

COMPILED = "".join(f"cc -O2 -c src/module_{n:03}.c -o build/module_{n:03}.o\n" for n in range(300))
ERROR = "src/parser.c:41:7: error: 'depth' undeclared (first use in this function)\n"
BUILD = (COMPILED + ERROR + COMPILED + "make: *** [Makefile:12: all] Error 2\n").encode()

words = st.sampled_from(
    [
        *(
            "FAILED tests/test_a.py::test_b",
            "x" * 300,
            "naïve 漢字",
            "\t",
            "one two three four five six",
            "}",
        ),
        "ok",
        "error: it broke",
        "",
        "  ",
        "warning: old",
        "12:30:01 INFO started",
        "Traceback (most recent call last):",
    ]
)
texts = st.lists(words, min_size=30, max_size=400).map("\n".join).map(str.encode)


def focused(data: bytes, limit: int, *, failed=True, interest="", tokenizer=TOKENIZER) -> bytes:
    def cost(parts):
        return count_bytes(FORMS["text"].compose(parts), tokenizer)

    payload = payload_of(data)
    keep = KEEPS["focus"].for_call(Circumstances(0, failed, interest))
    ask = Ask(limit, 0, keep, "record", "[TRUNCATED]", "tokcap show lake917365018@{}")
    cut = SHAPES["text"].cut(payload, Index(payload, tokenizer), ask, cost)
    return FORMS["text"].compose(cut.parts)


def test_the_error_in_the_middle_of_a_build_is_shown_with_the_end():
    answer = focused(BUILD, 200)
    assert ERROR.encode() in answer
    assert b"make: *** [Makefile:12: all] Error 2\n" in answer
    assert recount(answer) <= 200


def test_repeated_lines_are_said_to_be_similar():
    found = taken_apart(focused(BUILD, 200), BUILD)
    assert any(gap.similar and gap.lines and gap.lines > 200 for gap in found.hidden)


def test_the_last_line_is_the_mark_with_the_command_for_the_first_gap():
    answer = focused(BUILD, 300)
    found = taken_apart(answer, BUILD)
    first = found.hidden[0].token
    assert found.mark.endswith(
        f"/{recount(BUILD)} tokens; …N lines; tokcap show lake917365018@{first}\n".encode()
    )


@pytest.mark.parametrize("limit", [60, 100, 200, 500, 2000])
def test_gaps_and_shown_lines_tile_the_source_and_name_its_tokens(limit):
    assert taken_apart(focused(BUILD, limit), BUILD).shown


@given(texts, st.integers(60, 1500))
def test_any_text_recounts_within_the_limit_and_is_tiled(data, limit):
    answer = focused(data, limit)
    if answer == data:
        return
    assert recount(answer) <= limit
    if answer.splitlines()[-1].startswith(b"[TRUNCATED] "):
        taken_apart(answer, data)


@pytest.mark.parametrize("limit", [500, 2000])
def test_the_limit_is_used_when_more_is_there(limit):
    assert recount(focused(BUILD, limit)) >= 0.9 * limit


def test_a_pattern_of_the_caller_matters_most(inside):
    ran = inside("-n", "200", "--focus", "module_14[27]", stdin=BUILD)
    assert b"module_142.c" in ran.out
    assert b"module_147.c" in ran.out
    assert recount(ran.out) <= 200


def test_a_pattern_that_is_no_pattern_is_refused_before_the_command_runs(inside, tmp_path):
    ran = inside("-n", "9", "--focus", "(", "--", "touch", str(tmp_path / "ran"))
    assert ran.status == 125
    assert b"not a valid regular expression" in ran.err
    assert not (tmp_path / "ran").exists()


def test_a_pattern_does_not_go_with_another_policy(inside):
    assert inside("-n", "9", "--keep", "tail", "--focus", "x", stdin=b"").status == 125


PACKAGES = "".join(f"ii  lib{n:x}-data:amd64  {n}.{n % 7}-2  amd64  shared files\n" for n in range(600))
QUESTION = "Which version of lib1a3-data is installed?"


@pytest.mark.parametrize("given", [("--ask", QUESTION), ("--ask", QUESTION, "--keep", "auto")])
def test_lines_that_share_the_rare_words_of_a_question_are_shown(inside, given):
    without = inside("-n", "150", "--keep", "focus", stdin=PACKAGES.encode())
    ran = inside("-n", "150", *given, stdin=PACKAGES.encode())
    assert b"lib1a3-data:amd64" in ran.out
    assert b"lib1a3-data:amd64" not in without.out
    assert recount(ran.out) <= 150


def test_a_question_about_what_is_not_there_changes_nothing(inside):
    without = inside("-n", "150", "--keep", "focus", stdin=BUILD)
    assert inside("-n", "150", "--ask", "is the moon full?", stdin=BUILD).out == without.out


def test_a_question_as_a_setting_does_not_choose_what_is_kept(inside):
    asked = inside("-n", "60", stdin=BUILD, env={"TOKCAP_ASK": QUESTION})
    assert asked.out == inside("-n", "60", stdin=BUILD).out
    assert inside("-n", "9", "--keep", "tail", "--ask", "x", stdin=b"").status == 125


def test_meta_says_what_was_found_and_where(inside):
    meta = inside("-n", "200", "--keep", "focus", "-o", "json", stdin=BUILD).json["meta"]
    line = 1 + lines_of(BUILD).index(ERROR.encode())
    (found,) = [one for one in meta["focus"] if one["line"] == line]
    before = b"".join(lines_of(BUILD)[: line - 1])
    assert found["token"] == recount(before)
    assert found["kind"]


@pytest.mark.usefixtures("with_store")
def test_it_works_on_what_is_stored(inside):
    inside("-n", "60", "--", "cat", stdin=BUILD)
    shown = inside("show", "@last", "-n", "200", "--keep", "focus")
    assert ERROR.encode() in shown.out
    taken_apart(shown.out, BUILD)


@pytest.mark.usefixtures("with_store")
def test_the_gaps_of_the_last_answer_are_listed_with_their_lines_and_tokens(inside):
    answer = inside("-n", "300", "--keep", "focus", stdin=BUILD)
    assert b"; \xe2\x80\xa6N lines: --gaps; tokcap show " in answer.out
    gaps = taken_apart(answer.out, BUILD).hidden
    listed = inside("show", "@last", "--gaps").out.decode().splitlines()
    assert len(listed) == len(gaps) > 1
    for gap, line in zip(gaps, listed, strict=True):
        number = 1 + BUILD.count(b"\n", 0, gap.byte)
        assert line.startswith(f"{number}:{gap.token}:{gap.lines} lines, ")
    assert recount(inside("show", "@last", "--gaps", "-n", "9").out) <= 9


@pytest.mark.usefixtures("with_store")
def test_an_output_without_such_an_answer_has_no_gaps_to_list(inside):
    inside("-n", "60", stdin=BUILD)
    ran = inside("show", "@last", "--gaps")
    assert (ran.status, ran.out) == (1, b"")
    assert b"no answer with --keep focus" in ran.err


def test_auto_shows_what_matters_of_a_long_output(inside):
    assert ERROR.encode() in inside("-n", "200", "--keep", "auto", stdin=BUILD).out


def test_auto_shows_the_page_that_an_offset_asks_for(inside):
    paged = inside("-n", "60", "--keep", "auto", "--token-offset", "21", stdin=BUILD)
    assert paged.out == inside("-n", "60", "--token-offset", "21", stdin=BUILD).out


def test_the_reason_on_stderr_is_shown_next_to_a_flood_on_stdout(inside):
    script = "seq 1 5000; seq 1 3000 >&2; echo 'fatal: the disk is full' >&2; seq 1 3000 >&2; exit 4"
    ran = inside("-n", "400", "--keep", "focus", "--", "sh", "-c", script)
    assert ran.status == 4
    assert b"fatal: the disk is full\n" in ran.err
    assert recount(ran.out + ran.err) <= 400


def test_the_reason_on_stderr_is_shown_whole_next_to_records_that_are_alike(inside):
    lines = [f"    at step{n} (/srv/sync/step{n}.js:{n}:7)" for n in range(12)]
    reason = "\\n".join(["SyncError: page 173 failed", *lines])
    script = f"""i=0; while [ $i -lt 300 ]; do echo '{{"level":"info","page":'$i'}}'; i=$((i+1)); done
printf '{reason}\\n' >&2; exit 1"""
    ran = inside("-n", "400", "--keep", "focus", "--", "sh", "-c", script)
    assert ran.status == 1
    assert ran.err.count(b"at step") == 12
    assert recount(ran.out + ran.err) <= 400


@pytest.mark.parametrize("shape", ["json", "jsonl", "csv", "tsv"])
def test_structured_outputs_stay_valid(shape):
    for limit in (30, 60, 150, 600):
        shown = Sample(SAMPLES[shape], shape).shown(limit, keep="focus")
        assert recount(shown) <= limit
        if shape == "json":
            json.loads(shown)
        elif shape == "jsonl":
            for line in shown.splitlines():
                json.loads(line)
        elif limit >= 60:
            delimiter = b"," if shape == "csv" else b"\t"
            assert shown.startswith(SAMPLES[shape].splitlines()[0])
            assert all(line.count(delimiter) >= 1 for line in shown.splitlines())


def test_a_rare_value_of_json_is_shown_with_the_name_of_its_record():
    pods = [
        {
            "metadata": {"name": f"web-{n}", "labels": {"app": "web", "hash": f"{n * 7919:x}"}},
            "status": {"phase": "Running"},
        }
        for n in range(200)
    ]
    pods[137]["status"] = {"phase": "Failed", "reason": "Evicted: the node was low on memory"}
    shown = Sample(json.dumps({"items": pods}).encode(), "json").shown(300, keep="focus")
    assert "Evicted: the node was low on memory" in shown.decode()
    assert "web-137" in shown.decode()
    json.loads(shown)


def test_a_rare_row_of_a_table_is_shown():
    table = b"host,state,load\n" + b"".join(b"node%d,up,%d\n" % (n, n % 9) for n in range(2000))
    table = table.replace(b"node1234,up,", b"node1234,error: unreachable,")
    shown = Sample(table, "csv").shown(200, keep="focus")
    assert b"node1234,error: unreachable" in shown


def test_the_extremes_of_the_numbers_at_a_path_are_shown_with_their_record():
    rows = [{"id": n, "place": f"valley {n}", "size": 2 + (n * 7919 % 300) / 100} for n in range(900)]
    rows[517]["size"] = 5.7
    shown = Sample("\n".join(map(json.dumps, rows)).encode(), "jsonl").shown(400, keep="focus").decode()
    assert '"size":5.7' in shown
    assert "valley 517" in shown


def said_in_its_place(shown, source) -> bool:
    """Return whether every part of a value that is left out is said where it was."""
    if isinstance(source, dict) and isinstance(shown, dict):
        members = {key: value for key, value in shown.items() if not key.startswith("[TRUNCATED]")}
        is_marked = len(members) < len(shown)
        return (is_marked or members.keys() == source.keys()) and all(
            said_in_its_place(value, source[key]) for key, value in members.items()
        )
    if isinstance(source, list) and isinstance(shown, list):
        place = 0
        for value in shown:
            if isinstance(value, str) and value.startswith("[TRUNCATED]"):
                hidden = value.removeprefix("[TRUNCATED]").removesuffix(" hidden")
                place = place + int(hidden) if hidden else len(source)
            elif not said_in_its_place(value, source[place]):
                return False
            else:
                place += 1
        return place == len(source)
    return shown == source


leaves = st.one_of(st.integers(0, 9), st.text("abc ", max_size=60), st.none())
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text("xyz", min_size=1), inner),
    max_leaves=60,
)


@given(st.lists(trees, min_size=2, max_size=40), st.integers(40, 400))
def test_every_part_of_json_that_is_left_out_is_said_in_its_place(source, limit):
    shown = Sample(json.dumps({"items": source}).encode(), "json").shown(limit, keep="focus")
    assert said_in_its_place(json.loads(shown), {"items": source}), shown


def test_a_record_of_which_a_value_matters_is_shown_with_its_message():
    rows = [
        {"level": "info", "ts": n, "extra": {"a": "y" * 150, "b": "z" * 90}, "msg": f"job {n}"}
        for n in range(300)
    ]
    rows[150] |= {"level": "fatal", "msg": "the disk of node 7 is gone"}
    shown = Sample("\n".join(map(json.dumps, rows)).encode(), "jsonl").shown(400, keep="focus").decode()
    (line,) = [line for line in shown.splitlines() if '"fatal"' in line]
    assert json.loads(line)["msg"] == "the disk of node 7 is gone"
