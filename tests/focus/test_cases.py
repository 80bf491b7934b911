"""Each file of `cases/` is a part of an output, with the kind of each line in front of it.

The first line has the exit status. A line without a kind must not be found; a dot stands for any kind.
`place` is a line that explains the failure near it. To test a new rule, add a line to a case, or a file.
"""

from pathlib import Path

import pytest

from tokcap.focus import judge, rules
from tokcap.focus.survey import survey
from tokcap.focus.templates import words_of

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
KIND_WIDTH = 8


def read_case(path: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return the exit status, and the kind and text of each line."""
    head, *lines = path.read_text().splitlines()
    return int(head.removeprefix("exit ")), [
        (line[:KIND_WIDTH].strip(), line[KIND_WIDTH:].removeprefix("|").removeprefix(" ")) for line in lines
    ]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_lines_of_a_case_are_found_as_what_they_are(path):
    status, lines = read_case(path)
    findings = survey(["".join(f"{text}\n" for _, text in lines).encode()], failed=status != 0)
    found = [set() for _ in lines]
    for unit in findings.units:
        if unit.kind in rules.KINDS or unit.kind in ("place", "detail"):
            found[unit.first_line].add(unit.kind)
    for (kind, text), kinds in zip(lines, found, strict=True):
        if kind == ".":
            continue
        kinds = kinds if kind == "place" else kinds - {"place"}
        if kind in (rules.TROUBLE, rules.WARNING) and "detail" in kinds:
            continue
        assert (kind in kinds) if kind else not kinds, (
            f"{text!r} is {kinds or 'nothing'}, not {kind or 'nothing'}"
        )


def test_every_rule_has_a_line_in_a_case():
    met = set()
    for path in CASES:
        for expected, text in read_case(path)[1]:
            bare = text.encode()
            prefix = judge.PREFIX.match(bare)
            tried = [bare, bare[prefix.end() :]] if prefix else [bare]
            rows = judge.rules_for(words_of(bare).split()).values() if expected else ()
            for number in {number for row in rows for number in row} - met:
                pattern = judge.pattern_of(number)
                if not pattern or any(pattern.search(line) for line in tried):
                    met.add(number)
    assert {kind for _, kind, _, _ in rules.RULES} <= {*rules.KINDS}
    assert [name for number, (name, _, _, _) in enumerate(rules.RULES) if number not in met] == []
