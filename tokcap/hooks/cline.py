"""Cline: it runs `bash -c` with its own environment, and has no settings for that."""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import START_UP_FILE, StartedWithAgent


class Cline(StartedWithAgent):
    name = "cline"
    title = "Cline"
    program = "cline"
    way = START_UP_FILE
    effect = "caps every shell command if it was started with BASH_ENV set to the file"
    tried = "3.0.65"
    # A JSON document with the command, the output, the exit status twice, and the name of stderr.
    frame = Frame(tokens=34, as_json=1, cut=1500, characters=8_000, failed=7_950)
    sent = (1_514, 5_785)
    then = "start it with BASH_ENV={} cline, for example by an alias"
    directory = ".cline"


CLINE = Cline()
