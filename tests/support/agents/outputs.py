"""The outputs that are compared: five that are too long, each in another way, and what they must contain."""

from __future__ import annotations

import base64
import json
import random

ERROR_LINE = "src/widget.c:2500:7: error: unknown type name 'frobnicator'"

BUILD = f"""\
import sys
for n in range(1, 5001):
    if n == 2500:
        print({ERROR_LINE!r}, flush=True)
    else:
        print(f"[{{n:5d}}/5000] CC src/module_{{n:05d}}.c -> build/obj/module_{{n:05d}}.o", flush=True)
sys.exit(1)
"""
# Name, command, exit status.
OUTPUTS = {
    "20,000 lines, exit 3": ("seq 1 20000; echo oops >&2; exit 3", 3),
    "an error in the middle of 5,000 lines": ("python3 build.py", 1),
    "2 MB line": ("python3 long.py", 0),
    "300 KB JSON": ("cat doc.json", 0),
    "29 KB base64": ("cat data.b64", 0),
}


def project_files() -> dict[str, str]:
    """Return the files that the commands use."""
    draw = random.Random(5)
    items = [
        {"id": n, "name": f"item-{n}", "tags": ["a", "b"], "price": n * 1.25, "note": "x" * 20}
        for n in range(3300)
    ]
    rows = [base64.b64encode(draw.randbytes(57)).decode() for _ in range(380)]
    return {
        "build.py": BUILD,
        "long.py": "print('0123456789abcdef' * 131072)\n",
        "doc.json": json.dumps({"items": items, "total": len(items)}),
        "data.b64": "\n".join(rows) + "\n",
    }


def json_in(text: str) -> object:
    """Return the document in a text, which may be shorter; `ValueError` if it is broken."""
    if text.startswith('[{"query":'):
        # Cline gives results as JSON.
        text = json.loads(text)[0]["result"]
    if text.startswith('{"output": '):
        # And so does Hermes.
        text = json.loads(text)["output"]
    start = text.find("{")
    if start < 0:
        raise ValueError("no JSON at all")
    found = json.JSONDecoder().raw_decode(text[start:])[0]
    if "items" not in found:
        raise ValueError("only a part of the document")
    return found
