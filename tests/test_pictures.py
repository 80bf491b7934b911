"""The pictures in the guides are of runs: made again, they are the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from docs import draw, record
from docs.svg import PICTURES
from tests.support.guides import GUIDES
from tests.support.program import ROOT

MAKERS = {"docs.record": record.pictures, "docs.draw": draw.pictures}
SOME_KILOBYTES = 16 << 10


@pytest.mark.parametrize("module", MAKERS)
def test_pictures_are_those_of_runs_of_today(module):
    for name, picture in MAKERS[module]().items():
        assert (PICTURES / name).read_text() == picture, f"run python -m {module}"


def test_every_picture_is_small_well_formed_and_shown_in_a_guide():
    shown = "".join(guide.read_text() for guide in GUIDES)
    for path in PICTURES.iterdir():
        assert path.stat().st_size < SOME_KILOBYTES
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert f"pictures/{path.name}" in shown


@pytest.mark.parametrize(
    "guide", [*GUIDES, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"], ids=lambda path: path.stem
)
def test_every_link_leads_somewhere(guide):
    text = guide.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text):
        path, _, heading = (target[0] or target[1]).partition("#")
        if path.startswith(("https:", "http:")):
            continue
        there = guide.parent / path if path else guide
        assert there.exists(), path
        if heading:
            assert heading in anchors(there.read_text()), f"{path}#{heading}"


def test_the_readme_has_the_ratios_of_the_drawing():
    drawn = re.findall(
        r">(\w+)\.\w+</text>.*?, ([\d.]+) times<", (PICTURES / "quarter.svg").read_text(), re.DOTALL
    )
    ratios = dict(drawn)
    words = " ".join((ROOT / "README.md").read_text().split())
    assert (
        f'base64 has {ratios["base64"]} times the tokens that "four bytes are one" predicts, '
        f"and a table with many blanks {ratios['blanks']} times"
    ) in words


def anchors(text: str) -> set[str]:
    """What headings are called in links."""
    return {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
