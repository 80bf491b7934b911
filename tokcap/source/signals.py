"""Receive the signals that reach tokcap while a command runs, decide what each means, and pass it on once.

The signals are blocked, and a thread takes them one by one. A Python handler is not enough: it does not
run during a blocked write, may run after a CONT that cancels a TSTP, and does not learn where a signal
comes from. A signal from the terminal has reached the command as well, because both are in the same process
group.
"""

from __future__ import annotations

import os
import time

from tokcap.exits import SIGNAL_BASE
from tokcap.startup.accelerators import signal, thread
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.threads import Worker

if TYPE_CHECKING:
    from types import FrameType

    from tokcap.source.process import Process, Termination


# Signals that end a process by default.
TERMINATING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
# A terminal sends these to its whole foreground group. It sends SIGHUP to one process only.
FROM_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
FORWARDED = (*TERMINATING, signal.SIGUSR1, signal.SIGUSR2)
# Signals that can wake the thread: receiving one too many of them has no effect.
WAKING = (signal.SIGCHLD, signal.SIGCONT)
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
        self._gate = thread.allocate_lock()
        # Wakes the thread where no signal is blocked.
        self._alarm = thread.allocate_lock()
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

    def begin(self, process: Process, termination: Termination) -> None:
        """Start the thread: the command runs now."""
        self._termination = termination
        can_stop = signal.SIGTSTP in self._held
        self._forwarding.begin(process, termination, can_stop=can_stop)
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
        self._thread = thread.get_ident()
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
            self._alarm.acquire(timeout=-1 if seconds is None else min(seconds, thread.TIMEOUT_MAX))
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


class Forwarding:
    """Passes signals on to the command; before it starts and after it ends, they are meant for tokcap."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._termination: Termination | None = None
        self._can_stop = False
        self._interrupts = 0
        self._late_signals = 0

    def begin(self, process: Process, termination: Termination, *, can_stop: bool) -> None:
        """Pass signals on to this command from now on. `can_stop`: tokcap may stop itself by SIGTSTP."""
        self._process, self._termination = process, termination
        self._can_stop = can_stop

    def handle(self, number: int, *, from_terminal: bool) -> bool:
        """Handle one signal. Return True if tokcap has to end at once, after a repeated signal."""
        process = self._process
        already_received = from_terminal and number in FROM_KEYS
        if process is None:
            return self._handle_late(number)
        if number == signal.SIGCHLD:
            # Without a shell in the foreground that continues it, tokcap must not stop.
            if process.just_stopped() and in_foreground():
                self._stop(process)
        elif number == signal.SIGTSTP:
            if not already_received:
                process.send(signal.SIGTSTP)
            self._stop(process)
        elif number == signal.SIGCONT:
            process.send(signal.SIGCONT)
        elif process.ended():
            return self._handle_late(number)
        elif number == signal.SIGINT and from_terminal:
            self._interrupt(process, already_received)
        elif not already_received:
            process.send(number)
        return False

    def _stop(self, process: Process) -> None:
        """Stop tokcap as the command was stopped. The kernel ignores this if there is no shell."""
        if not self._can_stop:
            return
        signal.pthread_kill(thread.get_ident(), signal.SIGTSTP)
        # tokcap stops in the first of these two calls, until it is continued.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTSTP,))
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTSTP,))
        # Do this at once: if the command were seen as stopped again, it would stop tokcap again.
        process.send(signal.SIGCONT)

    def _interrupt(self, process: Process, already_received: bool) -> None:
        """Handle Ctrl-C: the first one is left to the command, the second ends it, the third kills it."""
        assert self._termination
        self._interrupts += 1
        self._late_signals = 1
        if not already_received:
            process.send(signal.SIGINT)
        if self._interrupts == 2:
            self._termination.request("interrupt")
        elif self._interrupts > 2:
            self._termination.kill()

    def _handle_late(self, number: int) -> bool:
        """Handle a signal when no command runs: the answer is still written, unless a second signal comes."""
        if number not in TERMINATING:
            return False
        self._late_signals += 1
        return self._late_signals > 1


def in_foreground() -> bool:
    """Return whether tokcap is in the foreground of its terminal."""
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
