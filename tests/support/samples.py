"""Payloads of every shape, and windows of them, for the contract suites of shapes and keep policies."""

from __future__ import annotations

import json

from tests.support.payloads import TOKENIZERS, payload_of
from tokcap.core.cut import Ask
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import SHAPES
from tokcap.tokens import count_bytes
from tokcap.tokens.index import Index

TOKENIZER = TOKENIZERS["cl100k_base"]
MARK = "[TRUNCATED]"
RECORDS = [{"id": n, "name": f"item {n} of many", "tags": ["a", "b"]} for n in range(120)]

# For each shape a payload of 120 records that this shape, and no other, recognizes.
SAMPLES = {
    "text": "".join(f"{n}: a line of plain words, naïve 漢字\n" for n in range(120)).encode(),
    "json": json.dumps(RECORDS, indent=1).encode(),
    "jsonl": "".join(json.dumps(record) + "\n" for record in RECORDS).encode(),
    "csv": ("id,name\n" + "".join(f'{n},"item {n}, of many"\n' for n in range(120))).encode(),
    "tsv": ("id\tname\n" + "".join(f"{n}\titem {n} of many\n" for n in range(120))).encode(),
}


class Sample:
    """One payload taken as one shape."""

    # The form of the answer if a test names none.
    output = "text"

    def __init__(self, data: bytes, shape: str, tokenizer: str = "cl100k_base") -> None:
        self.payload = payload_of(data)
        self.shape = SHAPES[shape]
        self.tokenizer = TOKENIZERS[tokenizer]
        self.index = Index(self.payload, self.tokenizer)

    def window(self, limit, offset=0, keep="head", output="", sentinel=MARK, align="record"):
        def cost(parts):
            return count_bytes(FORMS[output or self.output].compose(parts), self.tokenizer)

        ask = Ask(limit, offset, KEEPS[keep], align, sentinel)
        return self.shape.cut(self.payload, self.index, ask, cost)

    def shown(self, limit, output="", **ask) -> bytes:
        return FORMS[output or self.output].compose(self.window(limit, output=output, **ask).parts)

    def pages(self, limit, **ask):
        """Yield the windows from the beginning to the end. Each goes on where the one before ended."""
        offset = 0
        while True:
            page = self.window(limit, offset, **ask)
            yield page
            if page.gap is None:
                return
            assert page.gap.first > offset, "a page must go on"
            offset = page.gap.first
