"""Commands whose two streams are written piece by piece in a given order, into one file or pipe."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tokcap import pipeline
from tokcap.cli.arguments import parse
from tokcap.environment import Environment
from tokcap.exits import Ending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Pieces that merge badly: each is cheap next to its own stream, and dear next to the other one.
PIECES = (
    b" intern",
    b"ationalization",
    b"~",
    b" ",
    b"    ",
    b"\n",
    b"\n\n",
    b"\r\n",
    b"word ",
    b"1234567",
    b"'",
    b"ll",
    b"/",
    b"))",
    b"x" * 30,
    "漢字".encode(),
    "漢".encode()[:1],
    "漢".encode()[1:],
    "é".encode()[:1],
    "é".encode()[1:],
    "👍🏽".encode(),
    "👍".encode()[:2],
    "👍".encode()[2:],
    b"\xff",
    # The command waits for input.
    b"",
)


def pieces(most: int = 120) -> st.SearchStrategy[list[tuple[str, bytes]]]:
    """Return blocks of both streams: runs that repeat, so that also large limits are reached."""
    block = st.tuples(st.sampled_from(["out", "err", "out"]), st.sampled_from(PIECES))
    runs = st.lists(st.tuples(st.lists(block, min_size=1, max_size=6), st.integers(1, 60)), max_size=8)
    return runs.map(lambda found: [piece for run, times in found for piece in run * times][: most * 10])


class Blocks:
    """A source that yields the given blocks."""

    def __init__(self, blocks: Iterable[tuple[str, bytes]], ending: Ending = Ending(0)) -> None:  # noqa: B008  # frozen
        self._blocks = blocks
        self._ending = ending
        self._stopped: set[str] = set()

    def blocks(self):
        for stream, block in self._blocks:
            if stream not in self._stopped:
                yield stream, block

    def stop(self, stream: str) -> None:
        self._stopped.add(stream)

    def limit_reached(self) -> None:
        self._stopped.update(("out", "err"))

    def end(self) -> Ending:
        return self._ending

    def close(self) -> None:
        pass


def written_together(
    args: Sequence[str],
    blocks: Iterable[tuple[str, bytes]],
    variables: Mapping[str, str] | None = None,
    ending: Ending = Ending(0),  # noqa: B008  # frozen
) -> bytes:
    """Return what tokcap writes to both streams if they are one file, as with `2>&1`."""
    with tempfile.TemporaryFile() as together:
        env = Environment(
            {**os.environ, **(variables or {})}, stdout=together.fileno(), stderr=together.fileno()
        )
        request = parse([*args, "--", "command"], env)
        pipeline.run(request, env, lambda *_: Blocks(blocks, ending))
        together.seek(0)
        return together.read()


def written_apart(args: Sequence[str], blocks: Iterable[tuple[str, bytes]]) -> tuple[bytes, bytes]:
    """Return what tokcap writes to each of the two streams."""
    written = {1: b"", 2: b""}

    def collect(descriptor: int, data: bytes) -> None:
        written[descriptor] += data

    env = Environment({**os.environ}, collect=collect)
    pipeline.run(parse([*args, "--", "command"], env), env, lambda *_: Blocks(blocks))
    return written[1], written[2]
