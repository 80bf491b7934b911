"""Tell JSON, JSON Lines and CSV from text, and check that a part of them is still valid."""

from __future__ import annotations

import csv
import io
import json


def structure_of(data: bytes, kind: str) -> str:
    """Return `json`, `jsonl`, `csv` or an empty text. Only tables are read as CSV: many logs have commas."""
    if is_json(data):
        return "json"
    if is_json_lines(data):
        return "jsonl"
    return "csv" if kind == "table" and is_csv(data) else ""


def is_json(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict | list)
    except ValueError:
        return False


def is_json_lines(data: bytes) -> bool:
    lines = [line for line in data.splitlines() if line.strip()]
    return bool(lines) and all(map(is_json, lines))


def is_csv(data: bytes) -> bool:
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""), strict=True))
    except csv.Error:
        return False
    return bool(rows) and len(rows[0]) > 1 and {len(row) for row in rows} == {len(rows[0])}


CHECKS = {"json": is_json, "jsonl": is_json_lines, "csv": is_csv}
