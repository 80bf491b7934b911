"""An interrupt waits for the end of a block."""

import signal

import pytest

from tokcap.system.interrupts import interrupts_wait


def test_an_interrupt_is_raised_after_the_block_and_not_lost():
    steps = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # where it is raised is the point
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            steps.append("the block ended")
        steps.append("what follows")
    assert steps == ["the block ended"]


def test_what_was_blocked_before_stays_blocked():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        with interrupts_wait():
            pass
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
