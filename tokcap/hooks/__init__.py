"""Hooks: what coding agents send to their models is capped by tokcap.

`AGENTS` is the only list of supported agents. To add one, write its module (see `base.Agent`) and add a line
here. `manage.UNSUPPORTED` lists the agents that have no way in, each with the reason.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Table

if TYPE_CHECKING:
    from tokcap.hooks.base import Agent

AGENTS: Table[Agent] = Table(
    **{
        "claude-code": "tokcap.hooks.claude_code:CLAUDE_CODE",
        "codex": "tokcap.hooks.codex:CODEX",
        "opencode": "tokcap.hooks.opencode:OPENCODE",
        "pi": "tokcap.hooks.pi:PI",
        "gemini": "tokcap.hooks.gemini:GEMINI",
        "qwen": "tokcap.hooks.qwen:QWEN",
        "copilot": "tokcap.hooks.copilot:COPILOT",
        "cline": "tokcap.hooks.cline:CLINE",
        "hermes": "tokcap.hooks.hermes:HERMES",
        "vibe": "tokcap.hooks.vibe:VIBE",
        "kilo": "tokcap.hooks.kilo:KILO",
        "goose": "tokcap.hooks.goose:GOOSE",
        "continue": "tokcap.hooks.continue_cli:CONTINUE",
    }
)
