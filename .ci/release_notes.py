"""Print the notes of a release, from CHANGELOG.md: `python .ci/release_notes.py v0.1.0`.

Fails if the tag is not that of the package's version, or if the changelog has no dated section for it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def notes(tag: str) -> str:
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "tokcap/__init__.py").read_text(), re.MULTILINE)
    if version is None or tag != f"v{version[1]}":
        sys.exit(f"the tag is {tag}, but the package has version {version and version[1]}")
    section = re.search(
        rf"^## \[{re.escape(version[1])}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)",
        (ROOT / "CHANGELOG.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    if section is None or not section[1].strip():
        sys.exit(f"CHANGELOG.md has no notes with a date for version {version[1]}")
    return section[1].strip()


print(notes(sys.argv[1]))
