"""Read a directory of outputs: `corpus.json`, and the bytes of both streams in `raw/`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.useful.structure import structure_of
from tokcap.core.payload import TextPayload
from tokcap.tokens import open_tokenizer
from tokcap.tokens.index import Index

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN = Path(__file__).parent / "outputs"
TOKENIZER = open_tokenizer("cl100k_base")
STREAMS = {"o": "out", "e": "err"}

Needle = tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """What one command wrote, and what somebody must see of it."""

    directory: Path
    id: str
    kind: str
    ask: str
    command: str
    pty: bool
    exit: int
    needles: tuple[Needle, ...]
    # Pieces of the two streams in the order in which they were written: `("o", bytes)` or `("e", bytes)`.
    order: tuple[tuple[str, int], ...]

    def stream(self, name: str) -> bytes:
        path = self.directory / "raw" / f"{self.id}.{STREAMS[name]}"
        return path.read_bytes() if path.exists() else b""

    @cached_property
    def pieces(self) -> list[tuple[str, bytes]]:
        """The streams as they were interleaved."""
        streams = {name: self.stream(name) for name in STREAMS}
        places = dict.fromkeys(STREAMS, 0)
        found = []
        for name, size in self.order:
            found.append((name, streams[name][places[name] : places[name] + size]))
            places[name] += size
        assert all(places[name] == len(data) for name, data in streams.items()), f"{self.id}: wrong order"
        return found

    @cached_property
    def merged(self) -> bytes:
        return b"".join(data for _, data in self.pieces)

    @cached_property
    def index(self) -> Index:
        return Index(TextPayload(self.merged), TOKENIZER)

    def structure_of(self, *, merged: bool) -> str:
        """Return what standard output is, or both streams merged: `json`, `jsonl`, `csv` or an empty text."""
        return structure_of(self.merged if merged else self.stream("o"), self.kind)

    @property
    def tokens(self) -> int:
        return self.index.total_tokens


def load(directory: Path) -> list[Output]:
    rows = json.loads((directory / "corpus.json").read_text())
    return [output_of(directory, row) for row in rows]


def output_of(directory: Path, row: dict[str, object]) -> Output:
    fields = {name: row[name] for name in ("id", "kind", "ask", "command", "pty", "exit")}
    needles = tuple(tuple(needle) for needle in row["needles"])
    sizes = {
        name: path.stat().st_size if (path := directory / "raw" / f"{row['id']}.{ending}").exists() else 0
        for name, ending in STREAMS.items()
    }
    order: Sequence[Sequence[object]] = row["order"] or [[name, size] for name, size in sizes.items() if size]
    return Output(directory, needles=needles, order=tuple((name, size) for name, size in order), **fields)


def count(data: bytes) -> int:
    return TOKENIZER.count(data.decode("utf-8", "replace"))
