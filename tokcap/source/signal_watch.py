"""Receive the signals that reach tokcap while a command runs, and hand each to `Forwarding` once.

The signals are blocked, and a thread takes them one by one. A Python handler is not enough: it does not
run during a blocked write, may run after a CONT that cancels a TSTP, and does not learn where a signal
comes from.
"""

from __future__ import annotations

import os
import time
from _thread import TIMEOUT_MAX, allocate_lock, get_ident

from tokcap.exits import SIGNAL_BASE
from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.forwarding import TERMINATING, Forwarding, in_foreground
from tokcap.system.threads import Worker

if TYPE_CHECKING:
    import signal
    from types import FrameType

    from tokcap.source.process import Process
    from tokcap.source.terminal import Terminal
    from tokcap.source.termination import Termination
else:
    # See `launch`.
    import _signal as signal

FORWARDED = (*TERMINATING, signal.SIGUSR1, signal.SIGUSR2)
# Signals that can wake the thread: receiving one too many of them has no effect.
WAKING = (signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT)
HELD = (*FORWARDED, signal.SIGTSTP, *WAKING)

# How often pending signals are checked where the system cannot wait for them with a timeout (macOS).
POLL_SECONDS = 0.05
LONG_WAIT_SECONDS = 3600


class SignalWatch:
    """Blocks the signals before the command starts, and restores everything after the answer is written.

    Signals that are ignored or blocked stay so, for tokcap and for the command. Nothing is blocked if tokcap
    is used as a library (`hold=False`), or outside the main thread.
    """

    def __init__(self, *, hold: bool = True) -> None:
        self.inherited_mask = {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())}
        self._handlers_before: dict[int, object] = {}
        self._held: set[int] = set()
        self._waking_signal = 0
        self._forwarding = Forwarding()
        self._termination: Termination | None = None
        self._worker: Worker | None = None
        # The thread while it runs, else 0.
        self._thread = 0
        self._finished = False
        # Whether no thread could be started.
        self.has_no_thread = False
        # Guards `_thread`.
        self._gate = allocate_lock()
        # Wakes the thread where no signal is blocked.
        self._alarm = allocate_lock()
        self._alarm.acquire()
        self._hold(everything=hold)

    def _hold(self, *, everything: bool) -> None:
        try:
            if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
                # The kernel would discard the command's exit status.
                self._handlers_before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if not everything:
                return
            unset = (signal.SIG_DFL, signal.default_int_handler)
            held = {int(number) for number in HELD if signal.getsignal(number) in unset} - self.inherited_mask
            self._waking_signal = next((number for number in WAKING if number in held), 0)
            if not self._waking_signal:
                return
            # Block first, so that no signal is lost while the handlers are set.
            self._held = held
            signal.pthread_sigmask(signal.SIG_BLOCK, held)
            for number in held.intersection(FORWARDED):
                # Called only when the signals are unblocked: between the end of the command and `close`.
                self._handlers_before[number] = signal.signal(number, self._handle)
        except ValueError:
            # Not the main thread.
            self._unblock()

    @property
    def dispositions(self) -> dict[int, signal.Handlers]:
        """For each signal whose handling was changed here: the handling that the command starts with."""
        ignored = signal.SIG_IGN
        return {
            number: ignored if before == ignored else signal.SIG_DFL
            for number, before in self._handlers_before.items()
        }

    def begin(self, process: Process, termination: Termination, terminal: Terminal | None) -> None:
        """Start the thread: the command runs now."""
        self._termination = termination
        can_stop = signal.SIGTSTP in self._held
        self._forwarding.begin(process, termination, terminal, can_stop=can_stop)
        try:
            self._worker = Worker(self._watch)
        except RuntimeError:
            # The user has too many processes, or there is no memory for a thread. Python's handlers take the
            # signals, and the code that reads the command's output takes care of the timeout.
            self.has_no_thread = True
            self._unblock()

    def wake(self) -> None:
        """Make the thread look again: something may be due earlier than before."""
        with self._gate:
            if self._thread and self._held:
                signal.pthread_kill(self._thread, self._waking_signal)
            elif self._alarm.locked():
                self._alarm.release()

    def finish(self) -> None:
        """End the thread and unblock the signals, after the command was reaped.

        Signals are meant for tokcap from now on, and programs that it starts must not find them blocked.
        """
        self._finished = True
        self.wake()
        if self._worker:
            self._worker.wait()
        self._unblock()

    def _unblock(self) -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._held)
        self._held = set()

    def close(self) -> None:
        """Restore the handlers, after the answer was written."""
        self.finish()
        for number, before in self._handlers_before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # it came from `getsignal`
        self._handlers_before.clear()

    def _watch(self) -> None:
        termination = self._termination
        assert termination
        self._thread = get_ident()
        try:
            while not self._finished:
                try:
                    number, from_terminal = self._next(termination.due_seconds())
                    termination.act()
                    # After the command these mean nothing: `finish` sends one to wake this thread.
                    is_meant = number and not (self._finished and number in WAKING)
                    if is_meant and self._forwarding.handle(number, from_terminal=from_terminal):
                        # The main thread hangs, usually in a write to a reader that does not read.
                        os._exit(SIGNAL_BASE + number)
                except MemoryError:
                    # The main thread reports it. There may be memory in the next round.
                    continue
        finally:
            # From now on `wake` does nothing. `with` would need memory.
            self._gate.acquire()
            self._thread = 0
            self._gate.release()

    def _next(self, seconds: float | None) -> tuple[int, bool]:
        """Return the next signal, or 0 after `seconds`, and whether it came from the terminal."""
        if self._held and hasattr(signal, "sigtimedwait"):
            found = signal.sigtimedwait(self._held, LONG_WAIT_SECONDS if seconds is None else seconds)
            # Signals that a process sends have a code of 0 or less.
            return (found.si_signo, found.si_code > 0) if found else (0, False)
        if not self._held:
            self._alarm.acquire(timeout=-1 if seconds is None else min(seconds, TIMEOUT_MAX))
            return 0, False
        # macOS has no wait with a timeout, and does not report where a signal comes from.
        until = None if seconds is None else time.monotonic() + seconds
        while not self._finished and (until is None or time.monotonic() < until):
            for number in self._held.intersection(signal.sigpending()):
                signal.sigwait((number,))
                return int(number), in_foreground()
            time.sleep(POLL_SECONDS)
        return 0, False

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """Python's handler, called when a signal is not blocked: after the command, or without a thread."""
        if self._forwarding.handle(number, from_terminal=in_foreground()):
            signal.signal(number, self._handlers_before[number])  # type: ignore[arg-type]  # see `close`
            os.kill(os.getpid(), number)
