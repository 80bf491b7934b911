"""Case files: a file added under tests/cases/<shape>/ is a test added.

flags: -n 40
--- input
what comes in, up to the newline before the next line of dashes
--- output
what must come out, likewise
"""

import re
import shlex

import pytest

from tests.support.program import ROOT

CASES = sorted((ROOT / "tests" / "cases").glob("*/*.case"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_comes_out_as_its_file_says(inside, path):
    flags, given, expected = re.fullmatch(
        rb"flags: (.*?)\n--- input\n(.*?)\n--- output\n(.*)\n", path.read_bytes(), re.DOTALL
    ).groups()
    ran = inside(*shlex.split(flags.decode()), stdin=given)
    assert re.sub(rb'"duration_ms":\d+', b'"duration_ms":0', ran.out) == expected
    assert ran.status == 0


def test_there_are_cases_of_every_shape():
    assert {path.parent.name for path in CASES} == {"text", "json", "jsonl", "csv", "tsv"}
    assert len(CASES) >= 60
