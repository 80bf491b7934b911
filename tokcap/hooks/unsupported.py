"""Agents that have no way in, or none that could be tried, each with the reason in one line.

`tokcap hook print NAME` gives a paragraph for their rules file. To support one of them, write its module, add
it to `AGENTS`, and delete its line here.
"""

from __future__ import annotations

NOT_TRIED = "could not be run without its vendor, so no way in was tried"

UNSUPPORTED = {
    # cursor.com/docs/hooks: hooks see results, and cannot replace them.
    "cursor": f"Cursor {NOT_TRIED}",
    # docs.factory.ai: hooks.
    "droid": f"Factory Droid {NOT_TRIED}",
    # charmbracelet/crush: commands run in an interpreter that is part of Crush.
    "crush": "Crush runs commands in its own interpreter instead of a shell",
    # ampcode.com/manual/plugin-api.
    "amp": f"Amp {NOT_TRIED}",
    # docs.windsurf.com/windsurf/cascade/hooks: a hook answers by its exit status.
    "windsurf": f"Windsurf {NOT_TRIED}",
    # kiro.dev/docs/cli/hooks: a hook answers by its exit status.
    "kiro": f"Kiro {NOT_TRIED}",
    # MoonshotAI/kimi-cli#1963.
    "kimi": f"Kimi CLI {NOT_TRIED}",
}

RULES = """\
Run shell commands that may print much as `tokcap -n {limit} --keep auto -c 'COMMAND'`. Their exit status and
errors are kept. If the output is too long, the last line names the command that shows the rest,
`tokcap show HANDLE`; use `tokcap show HANDLE --grep PATTERN` to search in it. Do not run the command again.
"""
