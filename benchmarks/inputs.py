"""Make the inputs: texts of any size from Python's own library, and a JSON document of about 35 KB."""

from __future__ import annotations

import os
from pathlib import Path

from tokcap.tokens.index import is_utf8

SIZES = {
    "1 KB": 10**3,
    "10 KB": 10**4,
    "100 KB": 10**5,
    "1 MB": 10**6,
    "10 MB": 10**7,
    "100 MB": 10**8,
    "1 GB": 10**9,
}
OTHER_SIZES = {"35 KB": 35_000, "5 MB": 5_000_000}
LARGE = ("1 GB",)

# The amount of different text. Longer inputs repeat it.
MOST_BYTES = 10_000_000


def make_inputs(place: Path, sizes: dict[str, int]) -> dict[str, Path]:
    """Write a file for each size, and one of JSON. All texts start the same."""
    text = library_text()
    found = {}
    for name, size in sizes.items():
        found[name] = place / f"{name.replace(' ', '')}.txt"
        with open(found[name], "wb") as file:
            left = size
            while left:
                left -= file.write(text[:left])
    found["JSON"] = place / "35KB.json"
    rows = ",".join(
        f'{{"id": {n}, "name": "user number {n}", "tags": ["a", "b"], "score": {n}.50}}' for n in range(500)
    )
    found["JSON"].write_text(f'{{"rows": [{rows}]}}')
    return found


def library_text() -> bytes:
    """Return up to 10 MB of Python source without the text of special tokens, which the peer rejects."""
    library = Path(os.__file__).parent
    text = bytearray()
    for source in (*sorted(library.glob("*.py")), *sorted(library.glob("*/*.py"))):
        data = source.read_bytes()
        if source.parent.name != "site-packages" and b"<|" not in data and is_utf8(data):
            text += data
        if len(text) >= MOST_BYTES:
            break
    return bytes(text[:MOST_BYTES])
