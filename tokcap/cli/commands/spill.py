"""`tokcap spill list | path | rm | gc`: stored outputs, for people and for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokcap.cli.arguments import decide
from tokcap.cli.described import Lists, about
from tokcap.cli.responses import Output, Reply
from tokcap.core.units import age_of, printable, size_of
from tokcap.errors import NotFound
from tokcap.steps.continuation import readable
from tokcap.store import open_store
from tokcap.store.base import Retention
from tokcap.system.screen import screen_of

if TYPE_CHECKING:
    from tokcap.store.base import ListedOutput, Store
    from tokcap.system.screen import Screen

application = typer.Typer(help="List, find and remove stored outputs.")

Handle = Annotated[
    str, typer.Argument(help="a handle, four or more of its digits, or @last"), Lists("handles")
]

HEAD = ("HANDLE", "AGE", "SIZE", "TOKENS", "EXIT", "COMMAND")
# What is shown of a command even on the narrowest screen.
LEAST_COMMAND = 12
# And what is looked at of it, however wide the screen is.
LONGEST_COMMAND = 400


@application.command("list")
@about(("tokcap spill list", "what is stored, the latest first"))
def list_entries(context: typer.Context, output: Output = None) -> int:
    """Stored outputs, the latest first: handle, age, size, tokens, exit status, command.

    Tokens are those of standard output, and `-` where nobody has counted all of them yet.
    """
    reply = Reply(context, output)
    env = reply.env
    store = open_store(env)
    entries = sorted(store.outputs(), key=lambda entry: -entry.stored_at)
    if not reply.is_text:
        return reply.give([described(entry, store) for entry in entries])
    if not entries:
        return reply.say("nothing is stored\n")
    now = env.now()
    rows = [HEAD, *(row_of(entry, now) for entry in entries)]
    return reply.say(table(rows, screen_of(env, env.stdout)))


@application.command("path")
@about(
    ('less "$(tokcap spill path @last)"', "read the last stored output with another tool"),
    no="there is no such output",
)
def path(
    context: typer.Context,
    handle: Handle,
    stream: Annotated[Literal["out", "err"], typer.Option(help="which stream of the command")] = "out",
    output: Output = None,
) -> int:
    """The file that holds a stored output: plain bytes, for any tool."""
    reply = Reply(context, output)
    stored = open_store(reply.env).open(handle, stream)
    stored.close()
    local_path = stored.local_path(stream)
    if local_path is None:
        raise NotFound(f"this store has no local files; read it with tokcap show {stored.handle}")
    if reply.is_text:
        return reply.say(f"{local_path}\n")
    return reply.give({"handle": stored.handle, "path": readable(local_path)})


@application.command("rm")
@about(
    ("tokcap spill rm 3f2a @last", "remove two of them"), danger="destructive", no="there is no such output"
)
def remove(
    context: typer.Context,
    handles: Annotated[
        list[str], typer.Argument(help="handles, or enough of their digits, or @last"), Lists("handles")
    ],
    output: Output = None,
) -> int:
    """Remove stored outputs. None is removed if one of them cannot be found."""
    reply = Reply(context, output)
    store = open_store(reply.env)
    removed = [*dict.fromkeys(store.find(handle) for handle in handles)]
    for handle in removed:
        store.remove(handle)
    if reply.is_text:
        return reply.say("".join(f"removed {handle}\n" for handle in removed))
    return reply.give({"removed": removed})


@application.command("gc")
@about(("tokcap spill gc", "what storing does by itself, now"), danger="destructive")
def collect(context: typer.Context, output: Output = None) -> int:
    """Remove what is too old or too much, and what those left behind who were killed while storing.

    This is part of storing, too; --spill-days and --spill-total, their variables and config keys say how much
    is kept. What was stored or read within the hour is kept in any case.
    """
    reply = Reply(context, output)
    settings = decide((), "run", reply.env)
    retention = Retention(int(settings["spill_days"] or 0), int(settings["spill_total"] or 0))
    cleaned = open_store(reply.env).clean(retention, reply.env.now())
    freed = sum(entry.size_bytes for entry in cleaned.removed)
    if reply.is_text:
        left_overs = f", {cleaned.left_overs} left over by others" if cleaned.left_overs else ""
        return reply.say(
            f"removed {len(cleaned.removed)} ({size_of(freed)}){left_overs}; "
            f"kept {cleaned.kept} ({size_of(cleaned.kept_bytes)})\n"
        )
    counts = {"freed_bytes": freed, "kept": cleaned.kept, "kept_bytes": cleaned.kept_bytes}
    removed = [entry.handle for entry in cleaned.removed]
    return reply.give({"removed": removed, **counts, "left_overs": cleaned.left_overs})


def described(entry: ListedOutput, store: Store) -> dict[str, object]:
    """An entry for programs. One whose record is damaged has what its files tell."""
    local_path = store.local_path(entry.handle)
    found: dict[str, object] = {
        "handle": entry.handle,
        "path": None if local_path is None else readable(local_path),
        "size_bytes": entry.size_bytes,
        "stored_at": int(entry.stored_at),
        "damaged": entry.record is None,
    }
    if entry.record:
        record = entry.record
        command = None if record.command is None else [readable(word) for word in record.command]
        found |= {
            "complete": record.complete,
            "shape": record.shape,
            "stored_bytes": dict(record.stored_bytes),
            "lost_bytes": dict(record.lost_bytes),
            "tokens": dict(record.tokens),
            "exit_status": record.exit_status,
            "signal": record.signal,
            "duration_ms": record.duration_ms,
            "command": command,
        }
    return found


def row_of(entry: ListedOutput, now: float) -> tuple[str, ...]:
    """An entry for people."""
    record, age = entry.record, age_of(now - entry.stored_at)
    if record is None:
        return (entry.handle, age, size_of(entry.size_bytes), "-", "-", "(record is damaged)")
    totals = [streams["out"] for streams in record.tokens.values() if "out" in streams]
    status = "-" if record.exit_status is None else str(record.exit_status)
    shown = printable(" ".join(record.command), LONGEST_COMMAND) if record.command else "-"
    size = size_of(sum(record.stored_bytes.values())) + ("" if record.complete else " of more")
    return (entry.handle, age, size, str(totals[0]) if totals else "-", status, shown)


def table(rows: list[tuple[str, ...]], screen: Screen) -> str:
    """Columns as wide as they need to be, but for the last: it gets what is left of the screen."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    room = max(screen.columns - sum(widths) - 2 * len(widths), LEAST_COMMAND)
    lines = []
    for *cells, last in rows:
        shown = last if len(last) <= room else last[: room - 1] + "…"
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([*padded, shown]))
    return "".join(line.rstrip() + "\n" for line in lines)
