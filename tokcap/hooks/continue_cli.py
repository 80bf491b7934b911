"""Continue's `cn`: it runs `bash -l -c` with its own environment, and has no settings for that.

Of a command that fails, it tells the exit status or shows stdout, never both; so both streams are one here.
"""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import START_UP_FILE, StartedWithAgent


class Continue(StartedWithAgent):
    name = "continue"
    title = "Continue CLI"
    program = "cn"
    way = START_UP_FILE
    effect = "caps every shell command, and adds its exit status, if it was started with BASH_ENV"
    tried = "1.5.47"
    frame = Frame(tokens=24, tells_status=1, cut=1000, characters=49_900, lines=990)
    sent = (15, 20_099)
    merges_streams = True
    then = "start it with BASH_ENV={} cn, for example by an alias"
    directory = ".continue"


CONTINUE = Continue()
