"""What the stages of a shell's pipelines handed to the last one: stored, and told in a line of the answer.

There is a line if an earlier stage failed, or if something that it wrote is not in the output of the shell.
"""

from __future__ import annotations

from tokcap.core.mark import words_of
from tokcap.core.payload import WRITTEN_BYTES, Spool
from tokcap.core.response import Notice
from tokcap.errors import StoreError
from tokcap.exits import OK, SIGNAL_BASE
from tokcap.filters import chain
from tokcap.startup.accelerators import signal
from tokcap.startup.record import TYPE_CHECKING
from tokcap.steps.capture import Captured
from tokcap.steps.destinations import filtered
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from tokcap.core.payload import Sink
    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.source.pipes import Stage
    from tokcap.steps.opening import Call
    from tokcap.store.recorder import Recorder

# This many pipelines have a line and a stored output each. The others share one.
MOST_LINES = 4
# This many stages may wait for the next stage of their pipeline to end. That of an older one is not ours.
MOST_WAITING = 16
# What is longer is not compared with the output.
COMPARED_BYTES = 256 << 10
# How a stage ends that did not fail. The last two are of one that its reader has ended: maybe it still runs.
ENDED = (OK, SIGNAL_BASE + signal.SIGPIPE, None)


class Kept:
    """What one stage has read."""

    def __init__(self, stage: Stage, request: Request, env: Environment) -> None:
        self.stage = stage
        self._request = request
        self._env = env
        # The last stage of the pipeline, as soon as that is known.
        self.last = stage if stage.is_last else None
        self.is_superseded = False
        self.recorder: Recorder | None = None
        self.spool = Spool(keep_bytes=COMPARED_BYTES) if request.spill == "never" else Spool()
        self.sink: Sink = filtered(self, chain(request, env.variables))

    def write(self, block: bytes) -> None:
        self.spool.write(block)
        if self.spool.size > COMPARED_BYTES:
            self.record()

    def finish(self) -> None:
        """Do nothing: nothing is held back."""

    def record(self) -> None:
        """Prepare to store this. Most of what is read is short, and is never stored."""
        if self.recorder or self._request.spill == "never":
            return
        from tokcap.store import open_recorder

        tokenizer = open_tokenizer(self._request.tokenizer, self._env)
        self.recorder = open_recorder(self._request, tokenizer, self._env)
        begun, self.spool = self.spool, self.recorder.spool("out", whole=False)
        self.spool.write(begun.read(0, begun.size))

    def close(self) -> None:
        self.spool.close()
        if self.recorder:
            self.recorder.close()


class Stages:
    """Keeps what is copied between the stages of one shell, and tells about it."""

    def __init__(self, request: Request, env: Environment) -> None:
        self._request = request
        self._env = env
        self._open: list[Kept] = []
        # Those that have ended, and whose pipeline goes on with a stage that may be one of ours.
        self._waiting: list[Kept] = []
        self._kept: list[Kept] = []
        # What the pipelines after the first ones have in common, and for each whether a stage failed.
        self._shared: Kept | None = None
        self._failed: list[bool] = []

    def open_sink(self, stage: Stage) -> Sink:
        kept = Kept(stage, self._request, self._env)
        self._open.append(kept)
        return kept.sink

    def close_sink(self, stage: Stage) -> None:
        kept = next(kept for kept in self._open if kept.stage is stage)
        self._open.remove(kept)
        kept.sink.finish()
        if kept.is_superseded:
            kept.close()
        elif kept.last is None:
            self._waiting.append(kept)
            if len(self._waiting) > MOST_WAITING:
                self._waiting.pop(0).close()
        elif kept.last is not stage:
            self._keep(kept)
        else:
            self._keep_first(kept)

    def _keep_first(self, kept: Kept) -> None:
        """Of stages of ours that follow one another, keep what the first one has read: it has the most."""
        last = kept.stage
        while feeder := next(
            (one for one in (*self._waiting, *self._open) if one.stage.outputs == kept.stage.inputs), None
        ):
            if kept in self._open:
                kept.is_superseded = True
            else:
                kept.close()
            if feeder in self._waiting:
                self._waiting.remove(feeder)
            kept = feeder
        kept.last = last
        if kept not in self._open:
            self._keep(kept)

    def _keep(self, kept: Kept) -> None:
        if len(self._kept) < MOST_LINES:
            self._kept.append(kept)
            return
        if self._shared is None:
            self._shared = Kept(kept.stage, self._request, self._env)
        self._failed.append(bool(endings_of(kept)))
        for start in range(0, kept.spool.size, WRITTEN_BYTES):
            # The filters have seen it.
            self._shared.write(kept.spool.read(start, min(start + WRITTEN_BYTES, kept.spool.size)))
        kept.close()

    def notices(self, call: Call, out: Spool | None) -> tuple[Notice, ...]:
        """Store what is not in the output of the shell, and return the lines about it."""
        lines = known_lines(out) if out else {}
        told = [self._line(kept, call, lines) for kept in self._kept]
        if self._shared:
            told.append(self._shared_line(self._shared, call, lines))
        self._kept, self._shared, self._failed = [], None, []
        return tuple([Notice("PIPELINE", f"[{line}]") for line in told if line])

    def _line(self, kept: Kept, call: Call, lines: dict[bytes, int]) -> str:
        said = endings_of(kept)
        if not is_within(kept.spool, lines):
            if kept.stage.stopped_reading or (kept.last and kept.last.stopped_reading):
                said += ended_by(kept)
            said += self._stored(kept, call, f"before {kept.stage.name}")
        kept.close()
        return "; ".join(said)

    def _shared_line(self, shared: Kept, call: Call, lines: dict[bytes, int]) -> str:
        failed, is_dropped = sum(self._failed), not is_within(shared.spool, lines)
        said = [f"{len(self._failed)} more pipelines"]
        if failed:
            said[0] += f", {failed} with a stage that failed"
        if is_dropped:
            said += self._stored(shared, call, "in all of them")
        shared.close()
        return "; ".join(said) if failed or is_dropped else ""

    def _stored(self, kept: Kept, call: Call, where: str) -> list[str]:
        """Return how many tokens there are, and the call that shows them."""
        from tokcap.tokens.index import Index

        kept.record()
        index = Index(kept.spool, call.tokenizer)
        tokens = f"{words_of(index.total)} tokens {where}"
        if kept.recorder is None:
            return [tokens]
        try:
            ticket = kept.recorder.reserve()
            kept.recorder.commit(call.record_of(Captured(None), None), {"out": index})
        except StoreError as error:
            return [tokens, f"not stored: {error}"]
        part = ", the first part" if ticket and ticket.lost_bytes["out"] else ""
        return [tokens, call.env.reader.call(ticket.handle) + part] if ticket else [tokens]

    def close(self) -> None:
        """Remove what was not stored."""
        for kept in (*self._open, *self._waiting, *self._kept):
            kept.close()


def endings_of(kept: Kept) -> list[str]:
    """Return which stages failed. That its reader has stopped is no failure of a stage."""
    statuses = kept.last.statuses[:-1] if kept.last else ()
    return [
        f"stage {number} exited {status}" for number, status in enumerate(statuses, 1) if status not in ENDED
    ]


def ended_by(kept: Kept) -> list[str]:
    """Return which stage was ended because the last one stopped reading; none if it ended by itself."""
    assert kept.last is not None
    ended = [number for number, status in enumerate(kept.last.statuses, 1) if status in ENDED[1:]]
    if kept.last.statuses and not ended:
        return []
    number = f" {ended[0]}" if ended else ""
    return [f"stage{number} ended by {kept.last.name}"]


def known_lines(out: Spool) -> dict[bytes, int]:
    """Return how often each line is in an output; none if it is long."""
    found: dict[bytes, int] = {}
    if out.size + out.lost <= COMPARED_BYTES:
        for line in out.read(0, out.size).splitlines():
            found[line] = found.get(line, 0) + 1
    return found


def is_within(given: Spool, lines: dict[bytes, int]) -> bool:
    """Return whether every line of a spool is among these lines, as often."""
    if given.lost or given.size > COMPARED_BYTES:
        return False
    left = dict(lines)
    for line in given.read(0, given.size).splitlines():
        left[line] = left.get(line, 0) - 1
        if left[line] < 0:
            return False
    return True
