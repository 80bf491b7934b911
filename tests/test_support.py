"""The tests themselves: what test modules share is in `tests/support`, and no failure stays hidden."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.program import IMPORT_PATH, ROOT
from tests.support.tiers import nightly

HELPERS = r"from tests\.support\b|from tests import support\b"
OF_FUZZ = rf"{HELPERS}|from tests\.fuzz\b(?!.*\btest_)"


def test_test_modules_import_helpers_and_nothing_else_of_the_tests():
    wrong = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in (ROOT / "tests").rglob("*.py")
        for line in re.findall(r"^ *(?:from|import) +tests\b.*|^ *from +\..*", path.read_text(), re.MULTILINE)
        if not re.match(OF_FUZZ if "fuzz" in path.parts else HELPERS, line.strip())
    ]
    assert wrong == []


@nightly
class TestHiddenFailures:
    # The report of the inner run quotes them.
    @pytest.mark.provokes("CUT_FAILED", "INTERNAL_ERROR", always=False)
    def test_fail_the_test_that_does_not_expect_them(self, tmp_path):
        (tmp_path / "test_broken.py").write_text(BROKEN_SHAPE)
        # The fixtures of these tests are loaded as a plug-in.
        words = ["-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "--tb=no", "-rA", str(tmp_path)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": IMPORT_PATH},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        outcomes = dict(reversed(line.split()[:2]) for line in done.stdout.splitlines() if "::" in line)
        assert {name.partition("::test_")[2]: outcome for name, outcome in outcomes.items()} == {
            "of_the_command_line": "ERROR",
            "of_a_process": "ERROR",
            "of_the_library": "ERROR",
            "on_purpose": "PASSED",
            "on_purpose_but_nothing_failed": "ERROR",
            "not_at_all": "PASSED",
        }


BROKEN_SHAPE = """
import subprocess, sys
import pytest
import tokcap
from tokcap.shapes.json import JsonShape

DATA = b"[1, 2, 3]" * 99


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.setattr(JsonShape, "cut", None)

def test_of_the_command_line(inside, broken):
    inside("-n", "9", "--shape", "jsonl", stdin=DATA)

def test_of_a_process():
    subprocess.run([sys.executable, "-c", "print('tokcap: internal error: x')"], capture_output=True)

def test_of_the_library(broken):
    tokcap.cap(DATA, 9, shape="jsonl")

@pytest.mark.provokes("CUT_FAILED")
def test_on_purpose(inside, broken):
    inside("-n", "9", "--shape", "jsonl", stdin=DATA)

@pytest.mark.provokes("CUT_FAILED")
def test_on_purpose_but_nothing_failed(inside):
    inside("-n", "9", stdin=DATA)

def test_not_at_all(inside):
    inside("-n", "9", "--shape", "jsonl", stdin=DATA)
"""
