"""Decide what a signal to tokcap means for the command, and pass it on once.

A signal from the terminal has reached the command as well, because both are in the same process group.
"""

from __future__ import annotations

import os
from _thread import get_ident

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import signal

    from tokcap.source.process import Process
    from tokcap.source.terminal import Terminal
    from tokcap.source.termination import Termination
else:
    # See `launch`.
    import _signal as signal

# Signals that end a process by default.
TERMINATING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
# A terminal sends these to its whole foreground group. It sends SIGHUP to one process only.
FROM_KEYS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)


class Forwarding:
    """Passes signals on to the command; before it starts and after it ends, they are meant for tokcap."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._termination: Termination | None = None
        self._terminal: Terminal | None = None
        self._can_stop = False
        self._interrupts = 0
        self._late_signals = 0

    def begin(
        self, process: Process, termination: Termination, terminal: Terminal | None, *, can_stop: bool
    ) -> None:
        """Pass signals on to this command from now on. `can_stop`: tokcap may stop itself by SIGTSTP."""
        self._process, self._termination, self._terminal = process, termination, terminal
        self._can_stop = can_stop

    def handle(self, number: int, *, from_terminal: bool) -> bool:
        """Handle one signal. Return True if tokcap has to end at once, after a repeated signal."""
        process, terminal = self._process, self._terminal
        # A command with its own terminal receives nothing from the caller's terminal.
        already_received = from_terminal and terminal is None and number in FROM_KEYS
        if process is None:
            return self._handle_late(number)
        if number == signal.SIGCHLD:
            # Without a shell in the foreground that continues it, tokcap must not stop.
            if process.just_stopped() and in_foreground():
                self._stop(process)
        elif number == signal.SIGTSTP:
            if terminal:
                # The kernel discards SIGTSTP in a session without a shell.
                process.send_group(signal.SIGSTOP)
            elif not already_received:
                process.send(signal.SIGTSTP)
            self._stop(process)
        elif number == signal.SIGCONT:
            self._continue(process)
        elif number == signal.SIGWINCH:
            if terminal:
                terminal.resize()
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
        if self._terminal:
            self._terminal.take_back()
        signal.pthread_kill(get_ident(), signal.SIGTSTP)
        # tokcap stops in the first of these two calls, until it is continued.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTSTP,))
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTSTP,))
        # Do this at once: if the command were seen as stopped again, it would stop tokcap again.
        self._continue(process)

    def _continue(self, process: Process) -> None:
        if self._terminal:
            self._terminal.lend()
            process.send_group(signal.SIGCONT)
        else:
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
        if self._late_signals == 1:
            return False
        if self._terminal:
            self._terminal.take_back()
        return True


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
