"""What reaches tokcap while a command runs, handed on to the command: each signal once.

The signals are blocked, and a thread takes them one by one. So they are met whatever else tokcap is
doing, be it a write that nobody reads; in the kernel's own order, in which a CONT takes back a TSTP; and
with their origin, of which no handler is told: what the terminal sends has reached the command too,
because it is in the same process group.
"""

from __future__ import annotations

import os
import time
from _thread import TIMEOUT_MAX, allocate_lock, get_ident, start_new_thread

from tokcap.exits import SIGNAL_BASE
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from types import FrameType

    from tokcap.source.process import Process
    from tokcap.source.stopping import Stopping
    from tokcap.source.terminal import Terminal
else:
    # See `process`.
    import _signal as signal

# They end a process that does not expect them.
TERMINATING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
FORWARDED = (*TERMINATING, signal.SIGUSR1, signal.SIGUSR2)
# A terminal sends these to its whole foreground group. Of its own end it tells one process only.
FROM_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
# By these the thread can be woken too: nothing comes of one too many.
WAKING = (signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT)
HELD = (*FORWARDED, signal.SIGTSTP, *WAKING)

ASK_SECONDS = 0.05


class Signals:
    """Holds the signals back from before the command starts until the answer is out.

    Signals that are ignored or blocked stay so, for tokcap and for the command. In a program that uses
    tokcap as a library nothing is held (`hold`), nor in another thread than the main one.
    """

    def __init__(self, *, hold: bool = True) -> None:
        self.inherited_mask = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())}
        self._before: dict[int, object] = {}
        self._held: set[int] = set()
        self._waking = 0
        self._process: Process | None = None
        self._stopping: Stopping | None = None
        self._terminal: Terminal | None = None
        self._interrupts = 0
        self._late = 0
        self._thread = 0
        self._finished = False
        # Whether no thread could be started.
        self.is_alone = False
        self._gate = allocate_lock()
        self._running = allocate_lock()
        # Where no signal is held, none can wake the thread.
        self._alarm = allocate_lock()
        self._alarm.acquire()
        self._hold(everything=hold)

    def _hold(self, *, everything: bool) -> None:
        try:
            if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
                # The command's status would be lost.
                self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if not everything:
                return
            unset = (signal.SIG_DFL, signal.default_int_handler)
            held = {int(number) for number in HELD if signal.getsignal(number) in unset} - self.inherited_mask
            self._waking = next((number for number in WAKING if number in held), 0)
            if not self._waking:
                return
            # Blocked first, so that nothing gets lost while the handlers are set.
            self._held = held
            signal.pthread_sigmask(signal.SIG_BLOCK, held)
            for number in held.intersection(FORWARDED):
                # Not called while the signal is blocked, but from then on until the answer is out.
                self._before[number] = signal.signal(number, self._handle)
        except ValueError:
            # Not the main thread.
            self._let_go()

    @property
    def dispositions(self) -> dict[int, signal.Handlers]:
        """What a command has to find of the signals that are treated otherwise here."""
        ignored = signal.SIG_IGN
        return {n: ignored if before == ignored else signal.SIG_DFL for n, before in self._before.items()}

    def begin(self, process: Process, stopping: Stopping, terminal: Terminal | None) -> None:
        """The command has started."""
        self._process, self._stopping, self._terminal = process, stopping, terminal
        self._running.acquire()
        try:
            with self._gate:
                self._thread = start_new_thread(self._watch, ())
        except RuntimeError:
            # The user may have no more of them. Then Python's handlers take the signals, and whoever reads
            # the command's output looks after its time.
            self.is_alone = True
            self._running.release()
            self._let_go()

    def wake(self) -> None:
        """Something may be due earlier than it was."""
        with self._gate:
            if self._thread and self._held:
                signal.pthread_kill(self._thread, self._waking)
            elif self._alarm.locked():
                self._alarm.release()

    def finish(self) -> None:
        """The command has ended, and its process was reaped: from here on, signals mean tokcap.

        Other programs may be started now, and must not find signals blocked.
        """
        self._finished = True
        self.wake()
        with self._running:
            # The thread has ended, or there was none.
            pass
        self._let_go()

    def _let_go(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._held)
        self._held = set()

    def close(self) -> None:
        """The answer is out: everything as it was."""
        self.finish()
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # it came from `getsignal`
        self._before.clear()

    def _watch(self) -> None:
        try:
            self._watch_to_the_end()
        except MemoryError:
            # Not even for one more round. The main thread has the same trouble, and tells of it.
            pass

    def _watch_to_the_end(self) -> None:
        stopping = self._stopping
        assert stopping
        with self._gate:
            # `_thread` is set by now.
            pass
        try:
            while not self._finished:
                try:
                    number, by_terminal = self._next(stopping.due_seconds())
                    stopping.act()
                    if number and not self._finished:
                        self._take(number, by_terminal)
                except MemoryError:
                    # Whoever reads the output runs out of it too, and says so. The next round may have some.
                    continue
        finally:
            with self._gate:
                # Nobody can wake it any more.
                self._thread = 0
            self._running.release()

    def _next(self, seconds: float | None) -> tuple[int, bool]:
        """The next signal, if there is one in time, and whether it came from the terminal."""
        if self._held and hasattr(signal, "sigtimedwait"):
            found = signal.sigtimedwait(self._held, 3600 if seconds is None else seconds)
            # A user's process has a code of 0 or less.
            return (found.si_signo, found.si_code > 0) if found else (0, False)
        if not self._held:
            self._alarm.acquire(timeout=-1 if seconds is None else min(seconds, TIMEOUT_MAX))
            return 0, False
        # macOS does not tell of the origin, nor can it wait for so long.
        until = None if seconds is None else time.monotonic() + seconds
        while not self._finished and (until is None or time.monotonic() < until):
            for number in self._held.intersection(signal.sigpending()):
                signal.sigwait((number,))
                return int(number), in_foreground()
            time.sleep(ASK_SECONDS)
        return 0, False

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """Called by Python where a signal is not blocked: after the command, or for a library's caller."""
        self._take(number, in_foreground())

    def _take(self, number: int, by_terminal: bool) -> None:
        process, terminal = self._process, self._terminal
        # On a terminal of its own the command hears nothing of the caller's.
        reached = by_terminal and terminal is None and number in FROM_KEYS
        if process is None:
            self._take_late(number)
        elif number == signal.SIGCHLD:
            # With nobody to continue it, tokcap must not stop.
            if process.just_stopped() and in_foreground():
                self._stop(process)
        elif number == signal.SIGTSTP:
            if terminal:
                # The kernel keeps TSTP from a session that has no shell.
                process.send_group(signal.SIGSTOP)
            elif not reached:
                process.send(signal.SIGTSTP)
            self._stop(process)
        elif number == signal.SIGCONT:
            self._continue(process)
        elif number == signal.SIGWINCH:
            if terminal:
                terminal.resize()
        elif process.ended():
            self._take_late(number)
        elif number == signal.SIGINT and by_terminal:
            self._interrupt(process, reached)
        elif not reached:
            process.send(number)

    def _stop(self, process: Process) -> None:
        """Stop as the command did. Without a shell that would notice, the kernel passes over it."""
        if signal.SIGTSTP not in self._held or not self._thread:
            return
        if self._terminal:
            self._terminal.take_back()
        signal.pthread_kill(get_ident(), signal.SIGTSTP)
        # tokcap stands still in the first of these lines, until it is continued.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTSTP,))
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTSTP,))
        # At once: seen as stopped once more, the command would stop tokcap again.
        self._continue(process)

    def _continue(self, process: Process) -> None:
        if self._terminal:
            self._terminal.lend()
            process.send_group(signal.SIGCONT)
        else:
            process.send(signal.SIGCONT)

    def _interrupt(self, process: Process, reached: bool) -> None:
        """Ctrl-C: the first is the command's own affair, the second ends it, the third kills it."""
        assert self._stopping
        self._interrupts += 1
        self._late = 1
        if not reached:
            process.send(signal.SIGINT)
        if self._interrupts == 2:
            self._stopping.ask("interrupt")
        elif self._interrupts > 2:
            self._stopping.force()

    def _take_late(self, number: int) -> None:
        """There is no command any more. The answer is still made, unless somebody insists."""
        if number not in TERMINATING:
            return
        self._late += 1
        if self._late == 1:
            return
        if self._terminal:
            self._terminal.take_back()
        if get_ident() == self._thread:
            # The main thread hangs, mostly in a write that nobody reads.
            os._exit(SIGNAL_BASE + number)
        signal.signal(number, self._before[number])  # type: ignore[arg-type]  # see `close`
        os.kill(os.getpid(), number)


def in_foreground() -> bool:
    """Whether tokcap is what the user of its terminal is looking at."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
