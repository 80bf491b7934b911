"""A survey reads a text once, in any chunks, and finds what matters in it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.findings import survey as survey_module
from tokcap.findings.survey import Survey

LINES = (
    b"",
    b"    at shop.cart (cart.js:3:5)",
    b"error: something failed",
    b"2026-01-02 INFO request 17 took 30 ms",
    b"2026-01-02 INFO request 18 took 31 ms",
    b"# Heading",
    b"5 failed, 3 passed",
    b"\xff\xfe\x00 not text \x1b[31merror\x1b[0m",
    b"progress 10%\rprogress 100%",
    b"diff --git a/x b/x",
    b"+class Added:",
)


def survey(data: bytes, chunks=(), **named):
    reader = Survey(named.pop("failed", True), **named)
    place = 0
    for end in (*sorted(chunks), len(data)):
        reader.feed(data[place:end])
        place = end
    return reader.finish()


def log_lines(count: int) -> bytes:
    return b"".join(
        b"2026-01-02 INFO worker-%d request %x took %d ms\n" % (n % 9, n * 7919, n) for n in range(count)
    )


@given(st.lists(st.sampled_from(LINES)), st.lists(st.integers(0, 400)), st.booleans())
def test_every_chunking_gives_the_same_findings(lines, chunks, ends_with_line_end):
    data = b"\n".join(lines) + b"\n" * ends_with_line_end
    assert survey(data, [min(place, len(data)) for place in chunks]) == survey(data)


@pytest.mark.parametrize("is_huge", [False, True])
@pytest.mark.parametrize("block_bytes", [64, 1000])
def test_every_chunking_gives_the_same_findings_across_blocks(block_bytes, is_huge, monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(survey_module, "EXAMINED_BYTES", 4 * block_bytes)
    monkeypatch.setattr(survey_module, "END_BYTES", block_bytes)
    monkeypatch.setattr(survey_module, "HUGE_BYTES", 0 if is_huge else 1 << 30)
    monkeypatch.setattr(survey_module, "HUGE_END_BYTES", block_bytes // 4)
    draw = random.Random(7)  # not a secret
    for _ in range(20):
        lines = draw.choices((*LINES, b"x" * 3 * block_bytes, *log_lines(3).split(b"\n")), k=60)
        data = b"\n".join(lines)
        places = [draw.randrange(len(data) + 1) for _ in range(draw.randrange(12))]
        size_bytes = len(data)
        assert survey(data, places, size_bytes=size_bytes) == survey(data, size_bytes=size_bytes)


def test_the_number_of_lines_is_exact():
    for data, count in ((b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\n\nb", 3)):
        assert survey(data).total_lines == count


def test_units_are_bounded_in_number_and_in_order():
    data = b"".join(b"error %d: part %d of %x is broken\n" % (n, n * n, n) for n in range(40_000))
    units = survey(data, most_candidates=500).units
    assert 0 < len(units) <= 1000
    assert [unit.first_line for unit in units] == sorted(unit.first_line for unit in units)


def test_one_failure_in_a_long_log_is_found():
    before, after = log_lines(30_000), log_lines(30_000)
    found = survey(before + b"2026-01-02 ERROR worker-3 lost its disk\n" + after, failed=False).found
    assert [(line.line, line.kind) for line in found] == [(30_000, "error")]


def test_a_line_that_is_longer_than_memory_allows_is_not_kept():
    reader = Survey(True)
    reader.feed(b"error: " + b"x" * (1 << 20))
    for _ in range(3):
        reader.feed(b"x" * (1 << 20))
        assert sum(map(len, reader._pending)) < 1 << 20
    reader.feed(b"\nlast line\n")
    findings = reader.finish()
    assert findings.total_lines == 2
    assert [line.line for line in findings.found] == [0]


def test_places_say_where_lines_begin(monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", 2000)
    data = log_lines(500) + b"y" * 9000 + b"\n" + log_lines(100)
    findings = survey(data)
    assert len(findings.places) > 10
    for line, byte in findings.places:
        assert data[:byte].count(b"\n") == line
        assert byte == 0 or data[byte - 1 : byte] == b"\n"


def test_lines_that_differ_in_numbers_are_similar():
    findings = survey(b"start\n" + log_lines(10) + b"end\n")
    assert findings.are_similar(2, 11)
    assert findings.are_similar(5, 6)
    assert not findings.are_similar(1, 11)
    assert not findings.are_similar(2, 12)


def test_what_the_caller_is_interested_in_matters_most():
    found = survey(log_lines(50) + b"error: disk failed\n", interest=r"request [0-9a-f]+f took").found
    assert {line.kind for line in found[:-1]} == {"interest"}
    assert found[-1].kind == "error"


def test_the_words_of_failure_in_a_diff_are_no_failures():
    data = b"diff --git a/x.py b/x.py\n@@ -1,3 +1,4 @@\n try:\n+except ValueError:\n+    raise TypeError\n"
    assert survey(data, failed=False).found == ()


def test_after_a_success_prose_about_errors_is_no_failure_that_counts():
    prose = (
        b"The parser of the program can raise an error if it is not able to read a file of this kind.\n\n"
        * 30
    )
    calm = survey(b"Reading files\n=============\n\n" + prose, failed=False)
    heading = next(unit for unit in calm.units if unit.first_line == 0)
    assert all(unit.value < heading.value for unit in calm.units if unit.kind == "trouble")


def test_the_largest_number_of_a_column_stands_out():
    data = b"".join(b"%d ./src/file%d.c\n" % (1000 + n * 7919 % 700, n) for n in range(300))
    data += b"927065 ./logo.png\n" + b"".join(
        b"%d ./doc/page%d.rst\n" % (900 + n * 7919 % 500, n) for n in range(300)
    )
    units = survey(data, failed=False).units
    assert max(units, key=lambda unit: unit.value).first_line == 300


def new_lines(count: int) -> bytes:
    """Lines of random words: no two are alike."""
    draw = random.Random(7)
    letters = "ghijklmnopqrstuvwxyz"
    return "".join(
        " ".join("".join(draw.choices(letters, k=6)) for _ in range(8)) + "\n" for _ in range(count)
    ).encode()


@pytest.mark.parametrize("at_end", [True, False])
def test_both_ends_of_a_long_text_are_examined_with_the_lines_around_them(at_end):
    trace = (
        b"Traceback (most recent call last):\n"
        b'  File "shop/cart.py", line 12, in total\n'
        b"    return sum(prices)\n"
        b"TypeError: unsupported operand\n"
    )
    log = log_lines(40_000)
    assert len(log) > 2 * survey_module.EXAMINED_BYTES
    found = survey(log + trace if at_end else trace + log)
    first = 40_000 if at_end else 0
    kinds = {(unit.first_line - first, unit.kind) for unit in found.units}
    assert {(0, "crash"), (1, "place"), (3, "crash")} <= kinds
    assert found.total_lines == 40_004


def test_a_failure_in_the_middle_of_megabytes_of_new_lines_is_found():
    before, after = new_lines(40_000), new_lines(30_000)
    found = survey(before + b"worker 7: error: cannot write block 12\n" + after, failed=None).found
    assert 40_000 in {one.line for one in found}


def test_what_the_caller_looks_for_is_found_in_megabytes_of_the_same_lines():
    data = log_lines(80_000)
    request = data.split(b"\n")[60_000].split()[4].decode()
    assert [one.line for one in survey(data, interest=f"request {request} ").found] == [60_000]


def values_by_line(findings):
    return {unit.first_line: unit.value for unit in findings.units if unit.explains < 0}


def test_numbered_failures_with_one_title_are_different_failures():
    data = b"".join(b"  %d) Validators\n     Error: case %d\n\n" % (n, n) for n in range(1, 4))
    repeats = [unit.repeat for unit in survey(data).units if unit.kind == "failed"]
    assert repeats == [0, 0, 0]


def test_a_failure_in_the_code_matters_more_than_the_same_in_its_tests():
    lines = [b"tests/test_a.py:%d: error: Missing type of argument" % n for n in range(9)]
    lines[4] = b"src/cart.py:7: error: Missing type of argument"
    values = values_by_line(survey(b"\n".join(lines)))
    assert max(values, key=values.__getitem__) == 4


def test_after_a_success_the_failure_that_is_reported_most_matters_most():
    often = b"".join(b"disk sda: ERROR cannot write block %d\n" % n for n in range(200))
    data = log_lines(50) + b"fan: ERROR it is too slow\n" + often + log_lines(50)
    values = values_by_line(survey(data, failed=False))
    assert values[51] > values[50]


def test_the_largest_size_with_a_unit_stands_out():
    rows = [b"%dK\tlib/part%d" % (4 + n * 7919 % 90, n) for n in range(40)]
    rows[25] = b"84M\tlib/frames"
    values = values_by_line(survey(b"\n".join(rows), failed=False))
    assert max(values, key=values.__getitem__) == 25


def test_a_row_that_lacks_a_value_stands_out():
    rows = [b"id,owner,balance", *(b"%d,owner %d,%d" % (n, n, 50 + n * 7919 % 90) for n in range(200))]
    rows[150] = b"150,,70"
    values = values_by_line(survey(b"\n".join(rows), failed=False))
    assert max(values, key=values.__getitem__) == 150


def test_a_message_is_the_same_behind_a_prefix():
    data = b"7: cannot close file: Broken pipe\nsome other line\n\ncannot close file: Broken pipe\n"
    first, second = (unit for unit in survey(data).units if unit.kind == "trouble")
    assert first.repeat == second.repeat != 0


def test_the_place_of_a_failure_is_found_in_its_paragraph():
    record = (
        b">> Issue: shell\n   Severity: %b   Confidence: High\n   CWE: 78\n   More: see\n   Location: %b\n\n"
    )
    data = record % (b"Low", b"shop/a.py:3:0") * 12 + record % (b"High", b"shop/cart.py:79:11")
    findings = survey(data)
    explained = {unit.first_line for unit in findings.units if unit.kind == "place"}
    assert 12 * 6 + 4 in explained


def test_a_heading_of_a_higher_level_and_one_that_says_something_new_matter_more():
    text = b"".join(b"%b\n\nSome words.\n\n" % title for title in (b"### Small", b"## Large", b"## Large"))
    text += b"".join(b"## Release %d\n\nSome words.\n\n" % n for n in range(3))
    values = values_by_line(survey(text, failed=False))
    small, large, same, first, second = (values[line] for line in range(0, 20, 4))
    assert large > small > same
    assert first > second > same


def test_the_first_level_of_a_tree_is_its_structure():
    data = "shop@1.0.0\n├─┬ express@5.1.0\n│ ├── accepts@2.0.0\n│ └── vary@1.1.2\n└── zod@4.0.0\n".encode()
    assert {1, 4} <= {unit.first_line for unit in survey(data, failed=False).units if unit.kind == "heading"}


def test_the_sums_of_a_diff_are_a_result():
    data = (
        b" x | 4 ++--\n 2 files changed, 6 insertions(+), 7 deletions(-)\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n"
    )
    assert [unit.first_line for unit in survey(data, failed=False).units if unit.kind == "summary"] == [1]


def test_a_line_of_hexadecimal_digits_says_nothing():
    data = b"Serial number follows here\n0a:c0:ca:b9\n" + log_lines(40)
    assert 1 not in {unit.first_line for unit in survey(data, failed=False).units if unit.kind == "example"}


def test_all_lines_of_a_rare_kind_are_examples():
    frames = [b'  File "/srv/shop/wait.py", line %d in wait_for_work' % (n % 3 + 7) for n in range(90)]
    frames[30] = b'  File "/srv/shop/locks.py", line 20 in rebuild_index'
    frames[60] = b'  File "/srv/shop/locks.py", line 14 in post_entry'
    values = values_by_line(survey(b"\n".join(frames)))
    assert min(values[30], values[60]) > values[0]


def commit(number: int, subject: bytes) -> bytes:
    return b"commit %040x\nAuthor: Ada <ada@example.org>\nDate:   Mon Nov 2\n\n    %b\n\n x.py | 2 +-\n\n" % (
        number * 7919,
        subject,
    )


def test_the_commits_of_a_history_are_its_parts_and_the_failures_they_mend_are_none():
    data = b"".join(
        commit(n, b"Fix the error of part %d: it crashed and was killed" % n) for n in range(1, 60)
    )
    findings = survey(data, failed=False)
    assert findings.found == ()
    assert {unit.first_line for unit in findings.units if unit.kind == "commit"} == set(range(0, 59 * 8, 8))
    subjects = {unit.first_line: unit.explains for unit in findings.units if unit.kind == "subject"}
    assert subjects == {line + 4: line for line in range(0, 59 * 8, 8)}


def test_of_a_history_the_newest_commits_and_those_with_words_of_their_own_matter_most():
    data = b"".join(commit(n, b"Update the list of parts") for n in range(1, 30))
    data += commit(30, b"Round tax per line") + commit(31, b"Update the list of parts")
    values = {u.first_line: u.value for u in survey(data, failed=False).units if u.kind == "commit"}
    assert values[0] > values[28 * 8] > values[30 * 8]
    assert values[29 * 8] > values[28 * 8]


@pytest.mark.parametrize("mark", [b"", b"* "])
def test_a_history_in_one_line_for_each_commit_has_no_failures(mark):
    data = b"".join(
        b"%b%07x Fix crash: fatal error in part %d\n" % (mark, 1 << 26 | n * 7919, n) for n in range(9)
    )
    assert survey(data, failed=False).found == ()
    # What another command writes after it is not a part of the history.
    after = survey(data + b"error: cannot open x\n  1) Login\n", failed=True).found
    assert {line.line for line in after} == {9, 10}


def test_a_log_whose_entries_begin_with_a_number_is_no_history():
    data = b"".join(b"%08x request %d failed: timed out\n" % (0xABCDE000 + n % 5, n) for n in range(40))
    assert survey(data, failed=False).found
    data = b"".join(b"%08x ERROR request %d failed\n" % (0xABCDE000 + n, n) for n in range(40))
    assert survey(data, failed=False).found


def test_one_commit_alone_is_no_history():
    data = commit(1, b"Change a part") + b" 3 files changed, 10 insertions(+), 2 deletions(-)\n"
    assert {unit.kind for unit in survey(data, failed=False).units} >= {"heading", "summary"}


def test_pairs_of_hexadecimal_digits_are_no_words():
    draw = random.Random(7)  # not a secret
    rows = [b"    " + b":".join(b"%02x" % draw.randrange(256) for _ in range(15)) for _ in range(200)]
    units = survey(b"Certificate: first\n" + b"\n".join(rows), failed=False).units
    assert len([unit for unit in units if unit.kind == "example" and unit.first_line]) <= 1
