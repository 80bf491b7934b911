"""A command as a source: started with its arguments verbatim, and read until it ends."""

from __future__ import annotations

import os
import select
import time

from tokcap.core.payload import RUNS_LONG, RUNS_ON
from tokcap.environment import INSIDE
from tokcap.errors import StreamError
from tokcap.exits import TIMED_OUT, Ending
from tokcap.source.launch import RESTORED_SIGNALS, Connections, Launch, restored_signals, spawn
from tokcap.source.process import POLL_SECONDS, Termination
from tokcap.source.signals import SignalWatch
from tokcap.startup.accelerators import thread
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.descriptors import DescriptorReader, is_reader_gone, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokcap.core.request import StderrMode, Stream
    from tokcap.environment import Environment, Inside
    from tokcap.source.pipes import StagePipes
    from tokcap.source.process import Process


# A grandchild may keep the pipe open forever. After the command has ended, reading may take this long.
DRAIN_SECONDS = 0.3

# The same if what is written later is read by somebody else: only what has been written counts.
HAND_OVER_SECONDS = 0.1

KILL_AFTER_SECONDS = 5.0

# A command that runs longer gets a name. Most have ended by then, and are not slowed down.
NAMED_AFTER_SECONDS = 0.3

# If a shell runs longer than this, its caller may look at what there is, or give it up.
SHOW_AFTER_SECONDS = 5.0

# When to check after output whether the command waits for input. The time doubles with each check.
FIRST_CHECK_SECONDS = 0.05
LAST_CHECK_SECONDS = 1.0
# On a terminal somebody watches: after such a pause, show what there is in any case.
PAUSE_SECONDS = 0.2

# Held from opening the pipes of a command until it is executed and has the only copies of their ends. A
# process that another thread forks in between would have copies too, and keep the output open for a while.
_starting = thread.allocate_lock()


class StandIn(Record):
    """A shell that the caller has called by another name, and what it tells its commands."""

    path: str
    inside: Inside
    # Variables for its start-up file, and what answers that; None if there is none.
    variables: Mapping[str, str | None] = {}  # never changed
    pipes: StagePipes | None = None


class Command:
    """A running command. `end` reaps it; `close` must be called in any case."""

    def __init__(
        self,
        argv: Sequence[str],
        stderr: StderrMode,
        env: Environment,
        *,
        timeout_seconds: float | None = None,
        kill_after_seconds: float = KILL_AFTER_SECONDS,
        reader: int | None = None,
        tells_waiting: bool = False,
        stand_in: StandIn | None = None,
        named_after_seconds: float = NAMED_AFTER_SECONDS,
    ) -> None:
        """Start the command.

        `reader` is the descriptor to which the answer is written. When the reader of that is gone, the
        command's own pipe is closed, as it would be without tokcap.

        With `tells_waiting`, `blocks` yields an empty block of each stream when the command waits for input.

        With `stand_in`, the caller takes the command for the shell itself. It dies with this process. What
        its background processes still have open at the end is in `left_over`.
        """
        self._stand_in = stand_in
        self.left_over: dict[int, Stream] = {}
        # What to yield when the command has run for a time, the earliest first.
        started = time.monotonic()
        self._moments = [(started + named_after_seconds, RUNS_ON)]
        if stand_in:
            self._moments.append((started + SHOW_AFTER_SECONDS, RUNS_LONG))
        self._reader = reader
        self._env = env
        self._left_open = self._unread = False
        self._tells_waiting = tells_waiting
        # When to check next whether the command waits, and how long ago the last check was.
        self._check_at: float | None = None
        self._check_seconds = FIRST_CHECK_SECONDS
        self._poll = select.poll()
        self._signals = SignalWatch(hold=env.is_program)
        try:
            with _starting:
                self._connections = Connections(stderr, env)
                try:
                    self._process = self._spawn(argv)
                except BaseException:
                    self._connections.close()
                    raise
                finally:
                    self._connections.close_lent()
        except BaseException:
            self._signals.close()
            raise
        try:
            self._termination = Termination(self._process, timeout_seconds, kill_after_seconds)
            self._signals.begin(self._process, self._termination)
        except BaseException:
            self._process.kill()
            self._process.close()
            self._connections.close()
            self._signals.close()
            raise

    def _spawn(self, argv: Sequence[str]) -> Process:
        stand_in = self._stand_in
        return spawn(
            Launch(
                argv=tuple(argv),
                changes=tuple(self._connections.changes),
                variables=self._variables(),
                mask=self._signals.inherited_mask,
                dispositions=self._signals.dispositions,
                restored=restored_signals() if self._env.is_program else RESTORED_SIGNALS,
                directory=self._env.directory,
                path=stand_in.path if stand_in else "",
                dies_with_parent=stand_in is not None,
            )
        )

    def _variables(self) -> Mapping[str, str]:
        env = self._env
        variables = env.variables if env.command_variables is None else env.command_variables
        if self._stand_in is None:
            return variables
        pipe = os.fstat(next(iter(self._connections.streams))).st_ino
        inside = self._stand_in.inside.replace(pipe=pipe).as_text()
        given = {**variables, INSIDE: inside, **self._stand_in.variables}
        return {name: value for name, value in given.items() if value is not None}

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        """Yield what the command writes as it arrives, until the command and its output have ended.

        An empty block means that the command waits for input, or one of the `Silence`s of `core.payload`.
        """
        streams = self._connections.streams
        readers = {descriptor: DescriptorReader(descriptor) for descriptor in streams}
        exit_descriptor = self._process.exit_descriptor
        for descriptor in (*streams, exit_descriptor):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        if self._reader is not None:
            self._poll.register(self._reader, 0)
        # Left for reading after the command has ended.
        drain_seconds = HAND_OVER_SECONDS if self._stand_in else DRAIN_SECONDS
        ended = False
        pipes = self._stand_in.pipes if self._stand_in else None
        if pipes:
            pipes.begin(self._process.pid, self._poll)
        # A shell that has closed its output still has pipelines.
        while (streams or (pipes and not ended)) and drain_seconds > 0:
            if self._signals.has_no_thread:
                self._termination.act()
            # Only reading counts as draining time: the consumer of the blocks may be slow.
            started = time.monotonic()
            events = self._poll.poll(drain_seconds * 1000 if ended else self._wait_milliseconds())
            ready = {descriptor for descriptor, _ in events}
            if pipes:
                pipes.act(dict(events))
            blocks = [(descriptor, readers[descriptor].read()) for descriptor in ready.intersection(streams)]
            if ended:
                drain_seconds -= time.monotonic() - started
            elif exit_descriptor is None or exit_descriptor in ready:
                # All that the command itself wrote is in the pipes now. Other processes may write forever.
                ended = self._process.ended() is not None
                if ended and exit_descriptor is not None:
                    # It would be ready in every round from now on.
                    self._poll.unregister(exit_descriptor)
            for descriptor, block in blocks:
                if not block:
                    self._close(descriptor)
                elif descriptor in streams:
                    yield streams[descriptor], block
            waits = self._tells_waiting and not ended and self._has_begun_to_wait(has_written=bool(blocks))
            for silence in self._silences(waits=waits):
                for name in [*streams.values()]:
                    yield name, silence
            if self._reader in ready:
                self._poll.unregister(self._reader)
                # What the command wrote before it could notice still counts as written to a closed pipe.
                for descriptor, name in [*streams.items()]:
                    if (
                        name == "out"
                        and wait_until_ready(descriptor, 0)
                        and (last := readers[descriptor].read())
                    ):
                        yield name, last
                self.stop("out")
                self._unread = self._stand_in is not None and is_reader_gone(self._env.stderr)
        if pipes:
            pipes.end()
        if self._stand_in:
            self.left_over = self._connections.release()
        else:
            self._left_open = bool(streams)

    def _has_begun_to_wait(self, *, has_written: bool) -> bool:
        """Return whether the command waits for input, once after it has written something."""
        now = time.monotonic()
        if has_written:
            self._check_seconds = FIRST_CHECK_SECONDS
            self._check_at = now + self._check_seconds
        if self._check_at is None or now < self._check_at:
            return False
        if self._waits_for_input():
            self._check_at = None
            return True
        self._check_seconds = min(2 * self._check_seconds, LAST_CHECK_SECONDS)
        self._check_at = now + self._check_seconds
        return False

    def _silences(self, *, waits: bool) -> Iterator[bytes]:
        """Yield the empty block that says why nothing is written, if there is something to say."""
        if waits:
            yield b""
        elif self._moments and time.monotonic() >= self._moments[0][0]:
            yield self._moments.pop(0)[1]

    def _waits_for_input(self) -> bool:
        from tokcap.source.waiting import input_file, waits_for_input

        if self._check_seconds >= PAUSE_SECONDS and os.isatty(self._env.stdout):
            return True
        name = input_file(self._env.stdin)
        # A process that waits for several things may be about to get something else: be patient.
        waits = waits_for_input(self._process.pid, name, alone=self._check_seconds < LAST_CHECK_SECONDS)
        return os.isatty(self._env.stdin) if waits is None else waits

    def _wait_milliseconds(self) -> int | None:
        moments = [moment for moment, _ in self._moments[:1]]
        moments += [self._check_at] if self._check_at is not None else []
        waits = [max(round((moment - time.monotonic()) * 1000), 1) for moment in moments]
        if self._process.exit_descriptor is None or self._signals.has_no_thread:
            waits.append(round(POLL_SECONDS * 1000))
        return min(waits, default=None)

    def stop(self, stream: Stream) -> None:
        """Stop reading one stream. If the command still writes to it, it gets a broken pipe."""
        for descriptor, name in [*self._connections.streams.items()]:
            if name == stream:
                self._close(descriptor)

    def limit_reached(self) -> None:
        """End the command and its descendants: no more output is wanted. What they still write is read."""
        self._termination.request("limit")
        self._signals.wake()

    def interrupt(self) -> None:
        """End the command and its descendants: the answer is no longer wanted. Any thread may call this."""
        self._termination.request("interrupt")
        self._signals.wake()

    def end(self) -> Ending:
        """Stop reading and wait for the command. If it still writes, it gets a broken pipe."""
        ending = self._wait()
        if self._process.is_lost:
            raise StreamError(
                "the command's exit status is lost: this program ignores SIGCHLD, or waits for every child"
            )
        return ending

    def _wait(self) -> Ending:
        self._connections.close()
        while self._signals.has_no_thread and self._process.ended() is None:
            self._termination.act()
            time.sleep(POLL_SECONDS)
        ending = self._process.wait()
        self._termination.wait_for_descendants()
        self._signals.finish()
        reason = self._termination.reason
        status = TIMED_OUT if reason == "timeout" else ending.status
        return ending.replace(
            status=status, stopped_for=reason, left_open=self._left_open, unread=self._unread
        )

    def close(self) -> None:
        """Clean up after the answer was written. After a failure the command may still run: end it."""
        if self._process.ended() is None:
            self._termination.request("failure")
            self._signals.wake()
            self._wait()
        self._connections.close()
        self._signals.close()
        self._process.close()

    def _close(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._connections.close_stream(descriptor)


class LeftOver:
    """Reads pipes until their last writer has closed them. There is no exit status."""

    def __init__(
        self, streams: Mapping[int, Stream], reader: int | None, pipes: StagePipes | None = None
    ) -> None:
        """`reader` is the descriptor to which the answer is written. If its reader is gone, stop reading.

        Then the background processes get a broken pipe, as they would without tokcap.
        """
        self._pipes = pipes
        self._streams = dict(streams)
        self._reader = reader
        self._poll = select.poll()

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        for descriptor in self._streams:
            self._poll.register(descriptor, select.POLLIN)
        if self._reader is not None:
            self._poll.register(self._reader, 0)
        readers = {descriptor: DescriptorReader(descriptor) for descriptor in self._streams}
        for stream in {*self._streams.values()}:
            yield stream, RUNS_ON
        if self._pipes:
            self._pipes.go_on(self._poll)
        while self._streams or (self._pipes and self._pipes.descriptors):
            events = dict(self._poll.poll())
            ready = set(events)
            if self._pipes:
                self._pipes.act(events)
            for descriptor in ready.intersection(self._streams):
                block = readers[descriptor].read()
                if not block:
                    self._close(descriptor)
                elif descriptor in self._streams:
                    yield self._streams[descriptor], block
            if self._reader in ready:
                self._poll.unregister(self._reader)
                self.close()

    def stop(self, stream: Stream) -> None:
        for descriptor in [number for number, name in self._streams.items() if name == stream]:
            self._close(descriptor)

    def end(self) -> None:
        self.close()

    def limit_reached(self) -> None:
        """Go on reading: a background process must not be stopped."""

    def close(self) -> None:
        for descriptor in [*self._streams]:
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        del self._streams[descriptor]
        try:
            self._poll.unregister(descriptor)
        except KeyError:
            # Nothing has been read yet.
            pass
        os.close(descriptor)
