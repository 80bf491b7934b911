"""The total of an agent's session: charge what its model wrote, and tell the session how it stands.

What the model has used is read from the agent's own files, from the end. Only what it wrote counts: what it
read was counted when it was passed on, and context that is sent again is not counted again.
"""

from __future__ import annotations

import os

from tokcap.budget import ledger_url, open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.core.response import Notice
from tokcap.errors import SessionNotStarted
from tokcap.hooks import AGENTS
from tokcap.hooks.base import Place
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.budget.arithmetic import Account
    from tokcap.budget.ledger import SessionView
    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent

# What a hook sets: the total, what happens when it is used up, and which agent it is.
TOTAL, MODES, AGENT = "TOKCAP_SESSION_TOTAL", "TOKCAP_SESSION_MODES", "TOKCAP_AGENT"
# At these hundredths of the total, the session is told once.
TELL_AT = (100, 80)
# How much of the end of a file is read. What comes before was charged by an earlier command.
MOST_BYTES = 1 << 20


def settings_of(env: Environment) -> Settings:
    """Return what a session of the agent is started with."""
    total = env.variables.get(TOTAL, "")
    if not total.isdecimal():
        return Settings()
    return Settings(total=int(total), modes=env.variables.get(MODES) or "soft").checked()


def accounted(request: Request, env: Environment) -> Request:
    """Charge what the model has written; return the request with what the session is told about its total."""
    ledger = open_ledger(env, url=ledger_url(env, request.ledger, request.ledger_file))
    view = ledger.session(request.session)
    try:
        account = view.read()
    except SessionNotStarted:
        ledger.start(request.session, settings_of(env))
        account = view.read()
    agent = AGENTS[name] if (name := env.variables.get(AGENT, "")) in AGENTS else None
    if agent and (path := usage_file(agent, request.session, env)):
        account = charge_model(agent, path, view) or account
    if notice := news(account, view):
        request = request.replace(notices=(*request.notices, notice))
    is_used_up = account.total and account.used >= account.total
    # A page that the session asks for is shown, or nothing would lead to what was only named.
    if account.settings.modes == "soft" and is_used_up and "tokcap show " not in " ".join(request.command):
        request = request.replace(mode="handle_only")
    return request


def news(account: Account, view: SessionView) -> Notice | None:
    """Return what a session is told that has just used so much of its total; None if nothing is new."""
    for hundredths in TELL_AT:
        if account.total and account.used * 100 >= account.total * hundredths:
            if not view.record(0, 0, f"told {hundredths}").counted:
                return None
            used = f"the session has used {account.used} of its {account.total} tokens"
            if hundredths < TELL_AT[0]:
                return Notice("BUDGET_LOW", used)
            return Notice("BUDGET_EXHAUSTED", f"{used}; outputs are only named from now on")
    return None


def usage_file(agent: Agent, session: str, env: Environment) -> str:
    """Return the file in which an agent notes what its model has used; empty if there is none."""
    from glob import escape, glob

    if not agent.usage_files:
        return ""
    home = agent.home_directory(Place(env.home(), "", env.variables))
    found = glob(os.path.join(escape(home), agent.usage_files.format(escape(session))))
    return max(found, key=os.path.getmtime, default="")


def charge_model(agent: Agent, path: str, view: SessionView) -> Account | None:
    """Charge what the model has written since the last time; None if nothing is known.

    The last answer is charged later: the agent may still be writing it.
    """
    answers: dict[str, int] = {}
    for name, tokens in answers_in(agent, path):
        answers[name] = max(tokens, answers.get(name, 0))
    account = None
    for name in [*answers][1:]:
        recorded = view.record(0, answers[name], f"{agent.name} {name}")
        account = recorded.account
        if not recorded.counted:
            break
    return account


def answers_in(agent: Agent, path: str) -> Iterator[tuple[str, int]]:
    """Yield id and tokens of the answers in a file, the last first; some have several lines."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - MOST_BYTES, 0))
            lines = file.read().split(b"\n")
    except OSError:
        return
    for line in reversed(lines):
        if b'_tokens"' not in line and b'TokenCount"' not in line:
            continue
        try:
            found = agent.written_by_model(loads(line.decode()))
        except (ValueError, KeyError, TypeError, AttributeError):
            # The beginning of it was cut off, or it is about something else.
            continue
        if found:
            yield found
