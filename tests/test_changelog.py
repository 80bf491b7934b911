"""The changelog has the right format, and every fixed defect in it names the test that checks it."""

from __future__ import annotations

import re

from tests.support.program import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text()
UNRELEASED = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1]


def test_changes_are_grouped_by_kind_in_order():
    kinds = re.findall(r"^### (.*)$", UNRELEASED, re.MULTILINE)
    assert kinds == [kind for kind in ("Added", "Changed", "Removed", "Fixed", "Security") if kind in kinds]


def test_every_fixed_defect_names_a_test_that_exists():
    fixed = UNRELEASED.partition("### Fixed\n")[2]
    defects = re.findall(r"^- (.*?)(?=\n(?:- |\n|\Z))", fixed, re.MULTILINE | re.DOTALL)
    assert len(defects) > 10
    for defect in defects:
        named = re.findall(r"`(tests/[\w/.-]+)`", defect)
        assert named, defect
        assert all((ROOT / name).exists() for name in named), defect
