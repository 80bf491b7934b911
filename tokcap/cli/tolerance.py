"""Settings of a shell that an agent depends on: what does not work is left out, and a warning names it.

With a refusal instead, every command of the agent would fail, also the one that mends the setting.
"""

from __future__ import annotations

import os

from tokcap.cli.arguments import decide
from tokcap.core.response import Notice
from tokcap.errors import (
    BudgetExhausted,
    SessionNotStarted,
    TokcapError,
    TokenizerUnavailable,
    UsageError,
)
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.core.request import Request, Value
    from tokcap.environment import Environment

CONFIG = "TOKCAP_CONFIG"


def decide_what_works(
    env: Environment, usual: Mapping[str, Value], command: Sequence[str]
) -> tuple[dict[str, Value], tuple[Notice, ...]]:
    """Return the value of every option, and what was left out: a variable, or all of the config file."""
    problems: list[str] = []
    while True:
        try:
            return decide((), "run", env, usual, command), tuple(map(left_out, problems))
        except UsageError as error:
            problems.append(str(error))
            env = without_setting(env, problems)


def without_setting(env: Environment, problems: list[str]) -> Environment:
    """Return the environment without the setting that the last problem is about."""
    name = problems[-1].partition(":")[0]
    if name.startswith("--"):
        name = "TOKCAP_" + name[2:].replace("-", "_").upper()
    variables = dict(env.variables)
    if name in variables:
        del variables[name]
    elif variables.get(CONFIG) != os.devnull:
        variables[CONFIG] = os.devnull
    else:
        # It does not say which one. Then none of them applies.
        variables = {name: value for name, value in variables.items() if not name.startswith("TOKCAP_")}
        variables[CONFIG] = os.devnull
    return env.replace(variables=variables)


def without_what_failed(request: Request, error: TokcapError, env: Environment) -> Request | None:
    """Return the request without what the error is about; None if it has to be reported.

    A budget that is exhausted refuses commands, also those of agents. The session of an agent is started.
    """
    if isinstance(error, BudgetExhausted):
        return None
    if isinstance(error, SessionNotStarted) and env.variables.get("TOKCAP_SESSION_FROM"):
        try:
            from tokcap.budget import open_ledger
            from tokcap.hooks.agent_session import settings_of

            open_ledger(env).start(request.session, settings_of(env))
        except TokcapError as another:
            error = another
        else:
            return request
    changes: dict[str, object] = {}
    if isinstance(error, TokenizerUnavailable):
        changes = {"tokenizer": type(request).tokenizer, "model": ""}
    elif request.session or request.turn or request.context_window:
        # It has ended, or its ledger cannot be used.
        changes = {"session": "", "turn": "", "context_window": None, "repeat": type(request).repeat}
    if not changes or not any(getattr(request, key) != value for key, value in changes.items()):
        return None
    return request.replace(**changes, notices=(*request.notices, left_out(str(error))))


def left_out(problem: str) -> Notice:
    return Notice("SETTING_IGNORED", f"ignored: {problem}")
