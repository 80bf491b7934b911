"""Kilo: it was made from opencode, and has the same settings and plug-ins in a directory of its own."""

from __future__ import annotations

from tokcap.hooks.opencode import OpenCode


class Kilo(OpenCode):
    name = "kilo"
    title = "Kilo"
    program = "kilo"
    tried = "7.7.7"
    sent = (50, 20_628)


KILO = Kilo()
