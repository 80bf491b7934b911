"""Hooks: coding agents run their shell commands under tokcap.

`AGENTS` is the only list of supported agents. To add one, write its module (see `base.Agent`) and add a line
here. `unsupported.UNSUPPORTED` lists the agents that cannot have a hook, each with the reason.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.lean.table import Table

if TYPE_CHECKING:
    from tokcap.hooks.base import Agent

AGENTS: Table[Agent] = Table(
    **{
        "claude-code": "tokcap.hooks.claude_code:CLAUDE_CODE",
        "gemini": "tokcap.hooks.gemini:GEMINI",
    }
)
