"""Pipes between the stages of a shell's pipelines: what the last stage reads is copied to a sink.

The shell has functions for the usual last stages (`cli/scripts/pipes.bash`, `zsh/.zshenv`). A function takes
a ticket, opens the pipe that belongs to it, sends a request, and waits for a byte of answer in that pipe.
With `+`, this process has opened what the function had as standard input, and passes it on into that pipe,
where the function and everything after it in the same process read it. The shell reaches all of these pipes
through `/proc/PID/fd`: no process inherits a descriptor, and no file is left behind.

A copy ends when its input ends, or at once when nobody reads its output: the stage before it gets a broken
pipe, as it would without the copy.
"""

from __future__ import annotations

import os
import select
import time

from tokcap.exits import OK, OWN_FAILURE, SIGNAL_BASE
from tokcap.source.launch import signals_in
from tokcap.startup.accelerators import signal
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.descriptors import PIPE_BYTES, DescriptorReader, enlarge_pipe
from tokcap.system.proc import PARENT, read, stat_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from tokcap.core.payload import Sink

    class Keeper(Protocol):
        """Keeps what is copied."""

        def open_sink(self, stage: Stage) -> Sink | None: ...
        def close_sink(self, stage: Stage) -> None: ...


# How many functions can be answered at the same time. Others wait.
TICKETS = 4
REQUEST_BYTES = 1 << 12
COPIED, NOT_COPIED = b"+", b"-"
# A shell has copies of descriptors that it will restore from here on; bash has its script in the last one.
FIRST_SAVED, SCRIPT = 10, 255
# A shell can have many subshells. The statuses of an early one arrive before there are this many others.
MOST_SHELLS = 64
# The first of these reads gets what was written before a stage stopped reading, the second finds the end.
LAST_READS = 2
SETTLE_SECONDS, SETTLE_ROUNDS = 0.0001, 1000


class Stage:
    """The last stage of a pipeline, or one before it that has a function too."""

    def __init__(self, name: str, shell: int, inputs: str, outputs: str, *, is_last: bool) -> None:
        self.name = name
        # The process that waits for the pipeline.
        self.shell = shell
        # The pipe that it reads, and what it writes to, as `/proc` names them.
        self.inputs, self.outputs = inputs, outputs
        self.is_last = is_last
        # Whether it stopped reading while the stage before it could still write.
        self.stopped_reading = False
        # The exit statuses of all stages of the pipeline, None for one that runs; none if they are unknown.
        self.statuses: tuple[int | None, ...] = ()


class Copy:
    """Passes bytes on from one pipe to another, and writes them to a sink."""

    def __init__(self, stage: Stage, source: int, target: int, sink: Sink | None) -> None:
        self.stage, self.source, self.target = stage, source, target
        self._sink = sink
        self._reader = DescriptorReader(source)
        self._is_enlarged = False
        # What is read and not yet written.
        self._left = memoryview(b"")

    def pass_on(self, poll: select.poll) -> bool:
        """Pass on what can be passed on now. Return False at the end."""
        try:
            if not self._left:
                block = self._reader.read()
                if not block:
                    return False
                if self._sink:
                    self._sink.write(block)
                if len(block) > PIPE_BYTES and not self._is_enlarged:
                    self._is_enlarged = True
                    enlarge_pipe(self.target)
                self._left = memoryview(block)
            self._left = self._left[os.write(self.target, self._left) :]
        except BlockingIOError:
            # The target is full, or the source was read by somebody else.
            pass
        except BrokenPipeError:
            self.stop()
            return False
        self.wait(poll)
        return True

    def wait(self, poll: select.poll) -> None:
        """Register what this copy waits for. The end of its reader is reported in any case."""
        poll.register(self.target, select.POLLOUT if self._left else 0)
        if self._left:
            self.forget(poll, self.source)
        else:
            poll.register(self.source, select.POLLIN)

    def forget(self, poll: select.poll, *descriptors: int) -> None:
        for descriptor in descriptors:
            try:
                poll.unregister(descriptor)
            except KeyError:
                # It was not waited for.
                pass

    def keep_nothing(self) -> None:
        """Only pass bytes on from now on."""
        self._sink = None

    def close(self, poll: select.poll) -> None:
        """Close both pipes: the stage before gets a broken pipe, the one after it the end."""
        self.forget(poll, self.source, self.target)
        os.close(self.source)
        os.close(self.target)

    def stop(self) -> None:
        """Keep what the stage has written so far. Nobody reads it any more."""
        try:
            for _ in range(LAST_READS):
                block = self._reader.read()
                if not block:
                    return
                if self._sink:
                    self._sink.write(block)
        except BlockingIOError:
            pass
        self.stage.stopped_reading = True


class StagePipes:
    """Answers the functions of one shell. Used only by the thread that reads the output of the shell."""

    def __init__(self, keeper: Keeper, *, is_plain: bool) -> None:
        """`is_plain`: every last stage is a process of its own, and nothing else."""
        self._keeper: Keeper | None = keeper
        self._is_plain = is_plain
        self._shell = 0
        self._poll = select.poll()
        self._copies: dict[int, Copy] = {}
        # The last pipeline of each process that waits for one.
        self._last: dict[int, Stage] = {}
        self._begun = b""
        self._tickets, self._given = os.pipe()
        self._asked, self._requests = os.pipe()
        os.set_blocking(self._asked, False)
        self._slots: list[tuple[int, int]] = []
        for _ in range(TICKETS):
            self._slots.append(os.pipe())
            os.write(self._given, b"%d" % (len(self._slots) - 1))

    def as_text(self, *, asks: bool) -> str:
        """Return what the start-up file of the shell needs to know. `asks`: bash is asked for statuses."""
        ends = [end for end, _ in self._slots]
        numbers = (os.getpid(), self._tickets, self._requests, asks, self._is_plain, *ends)
        return " ".join([str(int(number)) for number in numbers])

    def begin(self, shell: int, poll: select.poll) -> None:
        """Begin to answer this shell."""
        self._shell, self._poll = shell, poll
        poll.register(self._asked, select.POLLIN)

    def end(self) -> None:
        """Note what the shell has said before it ended."""
        self._answer()
        for copy in {id(copy): copy for copy in self._copies.values()}.values():
            # An input that has ended needs no event any more.
            if not copy.pass_on(self._poll):
                self._end(copy)

    def go_on(self, poll: select.poll) -> None:
        """Only pass on from now on, in another process."""
        self._keeper, self._poll = None, poll
        for copy in self._copies.values():
            copy.keep_nothing()
            copy.wait(poll)

    @property
    def descriptors(self) -> Sequence[int]:
        """What is open for copies that have not ended."""
        return tuple(self._copies)

    def act(self, events: Mapping[int, int]) -> None:
        """Do what these events of descriptors ask for."""
        for number in self._copies.keys() & events.keys():
            copy = self._copies.get(number)
            if copy is None:
                # The other descriptor of this copy has ended it.
                continue
            has_no_reader = number == copy.target and events[number] & select.POLLERR
            if has_no_reader:
                copy.stop()
            if has_no_reader or not copy.pass_on(self._poll):
                self._end(copy)
        if self._asked in events:
            self._answer()

    def _answer(self) -> None:
        try:
            data = os.read(self._asked, REQUEST_BYTES)
        except BlockingIOError:
            return
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            try:
                self._take(*line.decode("utf-8", "replace").split(" ", 2))
            except (TypeError, ValueError, IndexError):
                # Somebody else has written this.
                pass

    def _take(self, kind: str, pid: str, rest: str) -> None:
        if kind == "stage":
            self._begin_copy(int(pid), *rest.split(" ", 2))
        elif stage := self._last.get(int(pid)):
            stage.statuses = statuses_of(rest)

    def _begin_copy(self, pid: int, ticket: str, name: str, place: str) -> None:
        end, target = self._slots[int(ticket)]
        copy = None
        try:
            # The pipe that the function has opened is now its own. The next one gets the same number.
            following, self._slots[int(ticket)] = os.pipe(), (end, target)
            os.dup2(following[0], end, inheritable=False)
            os.close(following[0])
            self._slots[int(ticket)] = (end, following[1])
            os.write(self._given, ticket.encode())
            os.set_blocking(target, False)
            copy = self._open_copy(pid, name, place, target)
            os.write(target, COPIED if copy else NOT_COPIED)
        except (OSError, IndexError, ValueError):
            # The process is gone, or there are too many descriptors.
            pass
        if copy is None:
            os.close(target)
            return
        self._copies[copy.source] = self._copies[copy.target] = copy
        copy.wait(self._poll)

    def _open_copy(self, pid: int, name: str, place: str, target: int) -> Copy | None:
        """Return a copy for the function in a process; None if that would change anything there."""
        parent = int(stat_fields(pid)[PARENT])
        inputs, outputs = link_of(pid, 0), link_of(pid, 1)
        requests = link_of(os.getpid(), self._requests)
        for _ in range(SETTLE_ROUNDS):
            if outputs != requests:
                break
            # The function has just written its request, and is about to restore its output.
            time.sleep(SETTLE_SECONDS)
            outputs = link_of(pid, 1)
        # A subshell must not read ahead of the shell that has the same input. And what a function was given
        # with `<<` or `<` is not the pipe of a pipeline.
        if (
            not is_pipe(inputs)
            or inputs == link_of(parent, 0)
            or (not self._is_plain and has_saved_input(pid, parent, target))
        ):
            return None
        is_last = place == "last" or (
            place != "inner" and (not is_pipe(outputs) or outputs in (link_of(parent, 1), link_of(parent, 2)))
        )
        shell = pid if place == "last" else parent
        stage = Stage(name, shell, inputs, outputs, is_last=is_last)
        source = os.open(f"/proc/{pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        copy = Copy(stage, source, target, self._keeper.open_sink(stage) if self._keeper else None)
        if is_last:
            if len(self._last) > MOST_SHELLS:
                self._last.clear()
            self._last[shell] = stage
            if place != "last":
                self._ask_for_statuses(pid, parent)
        return copy

    def _ask_for_statuses(self, pid: int, parent: int) -> None:
        """Have bash run the trap of the start-up file when it has waited for the pipeline.

        Subshells have no traps, and with job control the pipeline may be in the background.
        """
        if (
            parent == self._shell
            and os.getpgid(pid) == os.getpgid(parent)
            and signals_in(parent, b"SigCgt") >> signal.SIGURG - 1 & 1
        ):
            os.kill(parent, signal.SIGURG)

    def _end(self, copy: Copy) -> None:
        copy.close(self._poll)
        del self._copies[copy.source], self._copies[copy.target]
        if self._keeper:
            self._keeper.close_sink(copy.stage)


def link_of(pid: int, descriptor: int) -> str:
    """Return what a descriptor of a process is, as `/proc` names it; empty if it is closed."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except FileNotFoundError:
        return ""


def is_pipe(link: str) -> bool:
    # One that has a name is not made by a shell.
    return link.startswith("pipe:")


def has_saved_input(pid: int, parent: int, target: int) -> bool:
    """Return whether bash will restore an input: what is standard input now is a redirection.

    It keeps the other one where only it can read it. `target` leads to the pipe of the ticket.
    """
    own = link_of(os.getpid(), target)
    for name in os.listdir(f"/proc/{pid}/fd"):
        number = int(name)
        link = link_of(pid, number) if number >= FIRST_SAVED and number != SCRIPT else own
        # What the parent has too is for the parent to restore.
        if link not in (own, link_of(parent, number)):
            flags = int(read(f"/proc/{pid}/fdinfo/{name}").partition(b"flags:\t")[2].split()[0], 8)
            if flags & os.O_CLOEXEC and flags & os.O_ACCMODE != os.O_WRONLY:
                return True
    return False


def statuses_of(text: str) -> tuple[int | None, ...]:
    """Return exit statuses: bash has their numbers, zsh the states of its jobs.

    Each of the states is `done::71=exit 1792:72=done`. The youngest job is the pipeline that runs.
    """
    if "=" not in text:
        return tuple([int(word) for word in text.split()])
    jobs = [
        [process.partition("=") for process in job.split(":") if "=" in process] for job in text.split(";")
    ]
    processes = max(jobs, key=lambda job: max((int(pid) for pid, _, _ in job), default=0))
    # Its last stage is the shell itself, and has not ended yet.
    return (*(status_of_state(state) for _, _, state in processes), 0)


def status_of_state(state: str) -> int | None:
    """Return the exit status for how zsh describes the end of a process; None if it has not ended."""
    word, _, number = state.partition(" ")
    if word == "exit" and number.isdecimal():
        # Some versions show the status that the system gives.
        return int(number) >> 8 or int(number)
    if word in ("done", "running"):
        return OK if word == "done" else None
    named = state.removesuffix(" (core dumped)")
    numbers = [number for number in signal.valid_signals() if str(signal.strsignal(number)).lower() == named]
    return SIGNAL_BASE + numbers[0] if numbers else OWN_FAILURE
