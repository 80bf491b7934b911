"""Make the same records as JSON, as JSON Lines and as CSV."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

SHAPES = ("json", "jsonl", "csv")
# So many records are written at a time.
BATCH = 1000


def record(number: int) -> dict[str, object]:
    return {
        "id": number,
        "name": f"user number {number}",
        "email": f"user{number}@example.com",
        "tags": ["alpha", "beta", f"t{number % 97}"],
        "score": number % 1000 + 0.5,
        "nested": {
            "city": f"Town {number % 53}",
            "zip": f"{number % 100_000:05d}",
            "active": number % 3 > 0,
            "note": None,
        },
    }


def write_records(places: dict[str, Path], json_bytes: int) -> int:
    """Write the same records to each file, until the JSON has about `json_bytes`. Return their number."""
    with contextlib.ExitStack() as closing:
        files = {shape: closing.enter_context(open(place, "w")) for shape, place in places.items()}
        return write_batches(files, json_bytes)


def write_batches(files: dict[str, TextIO], json_bytes: int) -> int:
    number, separator = 0, "["
    files["csv"].write(",".join(record(0)) + "\n")
    while files["json"].tell() < json_bytes:
        batch = [record(number + one) for one in range(BATCH)]
        lines = [json.dumps(one, separators=(",", ":")) for one in batch]
        files["json"].write(separator + ",".join(lines))
        files["jsonl"].write("\n".join(lines) + "\n")
        files["csv"].write(rows_of(batch))
        number, separator = number + BATCH, ","
    files["json"].write("]\n")
    return number


def rows_of(batch: list[dict[str, object]]) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for one in batch:
        rows.writerow([json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in one.values()])
    return text.getvalue()
