"""The tests themselves: what test modules share is in `tests/support`, and no failure stays hidden."""

from __future__ import annotations

import ast
import os
import subprocess
import sys

import pytest

from tests.support.hidden_failures import failures_in
from tests.support.program import IMPORT_PATH, ROOT

MODULES = sorted((ROOT / "tests").rglob("*.py"))


def imported_by(path) -> set[str]:
    """The modules that a file imports; for `from x import y` both `x` and `x.y`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_module_imports_a_test_module_or_a_conftest():
    wrong = [
        (str(path.relative_to(ROOT)), name)
        for path in MODULES
        for name in imported_by(path)
        if name.startswith("tests.") and name.rpartition(".")[2].startswith(("test_", "conftest"))
    ]
    assert wrong == []


def test_helpers_import_nothing_of_the_tests_but_helpers():
    wrong = [
        (path.name, name)
        for path in (ROOT / "tests" / "support").rglob("*.py")
        for name in imported_by(path)
        if name.startswith("tests.") and not name.startswith("tests.support")
    ]
    assert wrong == []


class TestHiddenFailures:
    @pytest.mark.parametrize(
        ("output", "code"),
        [
            (b'{"warnings":[{"code":"CUT_FAILED","message":"x"}]}', "CUT_FAILED"),
            ('{"warnings": [{"code": "TOKENIZER_FAILED"}]}', "TOKENIZER_FAILED"),
            (b"tokcap: cutting failed: KeyError('x'); treated as text\n", "CUT_FAILED"),
            (b"tokcap: x failed; counted every byte as a token instead\n", "TOKENIZER_FAILED"),
            (b"tokcap: internal error: at answer.py:7: KeyError: 'x'\n", "INTERNAL_ERROR"),
        ],
    )
    def test_are_found_in_json_and_in_messages(self, output, code):
        assert list(failures_in(b"", None, output)) == [code]

    def test_are_not_found_in_ordinary_output(self):
        assert failures_in(b'{"code":"NOT_STORED"}', "CUT_FAILED: no window could be cut", None) == {}

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
