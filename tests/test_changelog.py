"""The changelog has the right form, and a release takes its notes from it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import tokcap
from tests.support.program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "CHANGELOG.md").read_text()
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")


def notes(root: Path, tag: str) -> subprocess.CompletedProcess[str]:
    script = root / ".ci" / "release_notes.py"
    return subprocess.run([sys.executable, script, tag], capture_output=True, text=True, check=False)


def test_versions_have_dates_and_changes_are_grouped_by_kind_in_order():
    first, *versions = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    assert first.startswith("[Unreleased]\n")
    assert all(re.match(r"\[\d+\.\d+\.\d+\] - 2\d{3}-\d\d-\d\d\n", section) for section in versions)
    for section in [first, *versions]:
        kinds = re.findall(r"^### (.*)$", section, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def test_a_release_of_this_version_has_its_section_as_notes():
    done = notes(ROOT, f"v{tokcap.__version__}")
    assert done.returncode == 0, done.stderr
    assert "### Added\n\nCapping:\n\n- Cap a command" in done.stdout
    assert done.stdout in TEXT
    assert not re.search("^## ", done.stdout, re.MULTILINE)


def test_a_tag_that_is_not_the_version_or_a_version_without_notes_is_refused(tmp_path):
    for name in (".ci/release_notes.py", "tokcap/__init__.py", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert notes(tmp_path, f"v{tokcap.__version__}").returncode == 0
    assert "the tag is v9.0.0" in notes(tmp_path, "v9.0.0").stderr
    (tmp_path / "tokcap/__init__.py").write_text('__version__ = "9.0.0"\n')
    for section in ("", "## [9.0.0]\n\n### Added\n\n- A thing.\n", "## [9.0.0] - 2030-01-01\n\n"):
        (tmp_path / "CHANGELOG.md").write_text(TEXT.replace("## [Unreleased]\n", section))
        refused = notes(tmp_path, "v9.0.0")
        assert refused.returncode == 1
        assert "has no notes with a date for version 9.0.0" in refused.stderr
