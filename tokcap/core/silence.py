"""An empty block says that a command waits for input. This one only says that it runs long."""

from __future__ import annotations


class Silence(bytes):
    """An empty block with an identity of its own."""


RUNS_LONG = Silence()
