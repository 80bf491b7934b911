"""A survey reads a text once, in any chunks, and finds what matters in it."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcap.focus import survey as survey_module
from tokcap.focus.survey import survey as survey_of
from tokcap.focus.survey import whole_lines

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


def survey(data: bytes, chunks=(), failed=True, **named):
    borders = [0, *sorted(chunks), len(data)]
    return survey_of((data[start:end] for start, end in pairwise(borders)), failed=failed, **named)


def log_lines(count: int) -> bytes:
    return b"".join(
        b"2026-01-02 INFO worker-%d request %x took %d ms\n" % (n % 9, n * 7919, n) for n in range(count)
    )


@given(st.lists(st.sampled_from(LINES)), st.lists(st.integers(0, 400)), st.booleans())
def test_every_chunking_gives_the_same_findings(lines, chunks, ends_with_line_end):
    data = b"\n".join(lines) + b"\n" * ends_with_line_end
    assert survey(data, [min(place, len(data)) for place in chunks]) == survey(data)


@pytest.mark.parametrize("block_bytes", [64, 1000])
def test_every_chunking_gives_the_same_findings_across_blocks(block_bytes, monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(survey_module, "EXAMINED_BLOCKS", 4)
    draw = random.Random(7)  # not a secret
    for _ in range(20):
        lines = draw.choices((*LINES, b"x" * 3 * block_bytes, *log_lines(3).split(b"\n")), k=60)
        data = b"\n".join(lines)
        places = [draw.randrange(len(data) + 1) for _ in range(draw.randrange(12))]
        expected = survey(data)
        assert survey(data, places) == expected
        assert survey(data, range(0, len(data), 7)) == expected
        assert expected.total_lines == data.count(b"\n") + (not data.endswith(b"\n"))


def test_the_number_of_lines_is_exact():
    for data, count in ((b"", 0), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\n\nb", 3)):
        assert survey(data).total_lines == count


def test_units_are_bounded_in_number_and_in_order(monkeypatch):
    monkeypatch.setattr(survey_module, "MOST_DRAFTS", 500)
    data = b"".join(b"error %d: part %d of %x is broken\n" % (n, n * n, n) for n in range(40_000))
    units = survey(data).units
    assert 0 < len(units) <= 1000
    assert [unit.first_line for unit in units] == sorted(unit.first_line for unit in units)


def test_one_failure_in_a_long_log_is_found():
    before, after = log_lines(30_000), log_lines(30_000)
    found = survey(before + b"2026-01-02 ERROR worker-3 lost its disk\n" + after, failed=False).found
    assert [(line.unit, line.kind) for line in found] == [(30_000, "error")]


def test_of_a_line_that_is_longer_than_memory_allows_only_the_beginning_is_kept():
    chunks = [b"error: " + b"x" * (1 << 20), *[b"x" * (1 << 20)] * 3, b"\nlast line\n"]
    assert max(len(block) for _, block in whole_lines(chunks)) < 1 << 20
    findings = survey_of(chunks, failed=True)
    assert findings.total_lines == 2
    assert [line.unit for line in findings.found] == [0]


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
    assert len(log) > 2 * survey_module.EXAMINED_BLOCKS * survey_module.BLOCK_BYTES
    found = survey(log + trace if at_end else trace + log)
    first = 40_000 if at_end else 0
    kinds = {(unit.first_line - first, unit.kind) for unit in found.units}
    assert {(0, "crash"), (1, "place"), (3, "crash")} <= kinds
    assert found.total_lines == 40_004


def test_a_failure_in_the_middle_of_megabytes_of_new_lines_is_found():
    before, after = new_lines(40_000), new_lines(30_000)
    found = survey(before + b"worker 7: error: cannot write block 12\n" + after, failed=None).found
    assert 40_000 in {one.unit for one in found}


def test_what_the_caller_looks_for_is_found_in_megabytes_of_the_same_lines():
    data = log_lines(80_000)
    request = data.split(b"\n")[60_000].split()[4].decode()
    assert [one.unit for one in survey(data, interest=f"request {request} ").found] == [60_000]


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


def test_source_comes_before_tests_and_documents_in_a_diff():
    names = [
        *(f"docs/page{n}.md" for n in range(40)),
        "src/engine.py",
        *(f"tests/test_{n}.py" for n in range(40)),
    ]
    hunk = "index 1..2 100644\n--- a\n+++ b\n@@ -1,2 +1,2 @@\n-one\n+two\n"
    diff = "".join(f"diff --git a/{name} b/{name}\n{hunk}" for name in names).encode()
    units = survey_of([diff], failed=False).units
    best = max(units, key=lambda unit: unit.value)
    assert diff.splitlines()[best.first_line].endswith(b"b/src/engine.py")


def test_a_word_that_is_new_in_a_long_text_is_found_among_lines_that_all_differ():
    chance = random.Random(7)
    lines = [f"E501 Line too long ({chance.random()} of {chance.random()})" for _ in range(40_000)]
    lines[23_456] = "F821 Undefined name `totl`"
    units = survey_of(["\n".join(lines).encode()], failed=True).units
    assert 23_456 in {unit.first_line for unit in units}
