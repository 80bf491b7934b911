"""What a run of `--write` leaves in the project: results, the table of a guide, and the picture."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.useful import recall, report

RESULTS = Path(__file__).parent / "results.json"
GUIDE = Path(__file__).parents[2] / "docs" / "comparison.md"
# The limits of the picture. The table has those of `recall.LIMITS`.
LIMITS = (500, 1000, 2000, 4000, 8000)
BEGIN = "<!-- recall: python -m benchmarks.useful --write -->\n"
END = "\n<!-- end of recall -->"


def table() -> str:
    return report.as_markdown(json.loads(RESULTS.read_text()), recall.LIMITS)


def with_table(text: str) -> str:
    """Return the text of the guide with the table of the results."""
    before, begin, rest = text.partition(BEGIN)
    return before + begin + table() + END + rest.partition(END)[2]


def write(results: str) -> None:
    from docs.recall import PICTURE, picture
    from docs.svg import write as write_pictures

    RESULTS.write_text(results)
    GUIDE.write_text(with_table(GUIDE.read_text()))
    write_pictures({PICTURE: picture()})
