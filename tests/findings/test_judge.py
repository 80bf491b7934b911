"""Judging a line: what is tried before a pattern never changes what the patterns say."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokcap.findings import false_friends, rules
from tokcap.findings.judge import TABLE, WORDS, rules_with
from tokcap.findings.survey import Survey
from tokcap.findings.words import words_of

# What the patterns for "nothing is wrong" are made of, and what can stand between.
PARTS = (
    "0 00 0.5 1 no No zero without never not any ignored handle fixed avoid my-errors x/error errors Error "
    "err failed failures exception warnings warning time-out timeouts unreachable killed vulnerabilities "
    "crashes count null nil none false [] {} \"\" '' handling message pages boundary types classname logging "
    "report recovery terminated exited ended with success successfully normally tests the"
)
BETWEEN = (" ", " ", "  ", ": ", "=", " = ", ":", ", ", "\t", "-", "/", ".", '"', "'")
EMPTY_VALUES = (b"[]", b"{}", b'""', b"''")


@given(st.lists(st.tuples(st.sampled_from(PARTS.split()), st.sampled_from(BETWEEN)), min_size=1, max_size=6))
@example([("my-errors", " = "), ("0", " ")])
@example([("x/error", " "), ("message", " ")])
@example([("no", " "), ("the", " "), ("errors", "/"), ("warnings", " ")])
@example([("exited", " "), ("normally", " ")])
def test_a_line_says_that_nothing_is_wrong_only_if_its_words_may_say_so(parts):
    line = "".join(word + between for word, between in parts).encode()
    if false_friends.ABSENT.search(line):
        assert false_friends.may_be_absent(words_of(line).split()) or any(
            empty in line for empty in EMPTY_VALUES
        )


@pytest.mark.parametrize(
    "line",
    [
        *(b"ok 3 - adds", b"ok   pkg/a 0.3s", b"PASS a.test.js", b"PASSED", b"--- PASS: TestA", b"[ OK ] a"),
        *(b"[ RUN  ] a", b"=== RUN TestA", b"-- Looking for error.h", b"checking for errors... no"),
        *(b"npm ERR! cwd /tmp", b"gyp ERR! System Linux", "✓ fails".encode(), "  √ fails".encode()),
    ],
)
def test_a_line_that_passed_begins_with_one_of_the_bytes_that_are_tried(line):
    assert false_friends.PASSED.match(line)
    assert false_friends.has_passed(line)


def test_the_table_of_words_finds_the_same_rules_as_the_rows():
    for word in WORDS:
        expected = tuple(n for n, (_, _, words, _) in enumerate(rules.RULES) if word in words.split())
        assert rules_with(word) == expected
    assert TABLE.count(b"\n") == len(rules.RULES) - 1
    assert rules_with(b"nothing-of-the-kind") == ()


def kinds_of(text: str) -> list[tuple[int, str]]:
    survey = Survey(failed=True)
    survey.feed(text.encode())
    return [(unit.first_line, unit.kind) for unit in survey.finish().units if unit.kind in rules.KINDS]


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        # The same message about two files is judged once, whatever the place.
        ("a.c:3:38: warning: unused variable", "lib/b.py:12:1: warning: unused variable", "warning warning"),
        ("a.c:3:38: error: no such member", "b.c:4:1: error: no such member", "error error"),
        # No source file stands before these, so each is judged by itself.
        ("make: *** [all] Error 2", "a.c:1:1: *** [all] Error 2", "summary trouble"),
        ("a b.c:3:38: FAILED", "b.c:3:38: FAILED", "failed failed"),
        ("a.c:3:38: 0 errors", "a.c:3:38: 2 errors", "summary"),
    ],
)
def test_a_message_about_a_source_file_does_not_depend_on_the_file(first, second, kinds):
    together = kinds_of(f"{first}\n{second}\n")
    assert [kind for _, kind in together] == kinds.split()
    # The same as each line by itself.
    alone = [(n, kind) for n, line in enumerate((first, second)) for _, kind in kinds_of(f"{line}\n")]
    assert together == alone
