"""`tokcap spill …`: list, find and remove stored outputs."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokcap.cli.application import Output, application, like, reading
from tokcap.cli.arguments import decide
from tokcap.cli.kinds import Choice
from tokcap.cli.reply import Reply, with_store
from tokcap.core.units import age_of, count_of, printable, size_of
from tokcap.environment import Environment
from tokcap.errors import NotFound, UsageError
from tokcap.steps.continuation import readable
from tokcap.store import caller_of, open_store
from tokcap.store.base import ListedOutput, Retention
from tokcap.store.running import SIGN, outputs, roots_of

if TYPE_CHECKING:
    from tokcap.store.base import Store
    from tokcap.store.running import Running
    from tokcap.store.shared_outputs import SharedOutputs

app = application("List, find and remove stored outputs.")

HANDLE_HELP = "a handle, four or more characters of it, or @last, @last-1, ..."
StoreUrl = Annotated[
    str | None, like("store", "the store that all hosts read; default: TOKCAP_STORE, or config.toml")
]

NO_COMMAND = "-"
HEAD = ("HANDLE", "AGE", "SIZE", "TOKENS", "EXIT", "COMMAND")
# How much of a command is shown at most.
LONGEST_COMMAND_CHARACTERS = 400


@app.command("list")
def list_entries(
    context: typer.Context,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="list what all hosts can read, by handle, age and size only"),
    ] = False,
    store: StoreUrl = None,
    output: Output = None,
) -> int:
    """List stored outputs, the latest first: handle, age, size, tokens, exit status, command.

    Tokens are those of standard output, or `-` if they have not all been counted yet. A `+` after the size
    means that the output was longer than what is stored. Outputs of commands that still run come first.
    """
    env: Environment = context.obj
    reply = Reply(env, output)
    opened = opened_store(env, store)
    listed = shared_part(opened).outputs() if shared else opened.outputs()
    entries = sorted(listed, key=lambda entry: -entry.stored_at)
    now, named = env.now(), [] if shared else outputs(roots_of(env))
    growing = [one.running for one in named if one.running.runs]
    if not reply.is_text:
        running = [{"handle": one.name, "command": one.command, "running": True} for one in growing]
        return reply.give([*running, *(entry_numbers(one, None if shared else opened) for one in entries)])
    if not (entries or growing):
        return reply.say("nothing is stored\n")
    rows = [HEAD, *(row_of_running(one, now) for one in growing), *(row_of(one, now) for one in entries)]
    return reply.say_table(rows, cut=True)


@app.command(epilog='Exit status 1: there is no such output. Example: less "$(tokcap spill path @last)"')
def path(
    context: typer.Context,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help=HANDLE_HELP)],
    stream: Annotated[
        Literal["out", "err"],
        reading(Choice(("out", "err")), "--stream", text="which stream of the command"),
    ] = "out",
    store: StoreUrl = None,
    output: Output = None,
) -> int:
    """Print the path of the file that holds a stored output: plain bytes, for any tool.

    An output of another host is fetched first.
    """
    env: Environment = context.obj
    reply = Reply(env, output)
    stored = opened_store(env, store).open(handle, stream, caller_of(env))
    try:
        local_path = stored.fetch_path(stream)
    finally:
        stored.close()
    if local_path is None:
        raise NotFound(f"this store has no local files; read it with tokcap show {stored.handle}")
    if reply.is_text:
        return reply.say(f"{local_path}\n")
    return reply.give({"handle": stored.handle, "path": readable(local_path)})


@app.command("rm", epilog="Exit status 1: there is no such output.")
def remove(
    context: typer.Context,
    handles: Annotated[list[str] | None, typer.Argument(metavar="HANDLE", help=HANDLE_HELP)] = None,
    everything: Annotated[bool, typer.Option("--all", help="remove every output on this host")] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="with --all: remove every output in the store that all hosts read, too"
        ),
    ] = False,
    store: StoreUrl = None,
    output: Output = None,
) -> int:
    """Remove stored outputs. If one of them cannot be found, none is removed.

    With --store, an output that is named is removed for all hosts.
    """
    env: Environment = context.obj
    if everything and handles:
        raise UsageError("--all removes every output; leave out HANDLE or --all")
    if not everything and not handles:
        raise UsageError(f"HANDLE is missing: {HANDLE_HELP}; or --all")
    if shared and not everything:
        raise UsageError("--shared needs --all; an output that is named is removed for all hosts anyway")
    reply, opened, caller = Reply(env, output), opened_store(env, store), caller_of(env)
    if everything:
        listed = [*opened.outputs(), *(shared_part(opened).outputs() if shared else ())]
        removed = [*dict.fromkeys(entry.handle for entry in listed)]
    else:
        removed = [*dict.fromkeys(opened.find(handle, caller) for handle in handles or ())]
        if running := next((name for name in removed if name.startswith(SIGN)), None):
            raise UsageError(f"the command of {running} still runs; nothing was removed")
    # Without --shared, --all must not touch what other hosts have stored.
    remove_one = opened.remove if shared or not everything else opened.remove_here
    for handle in removed:
        remove_one(handle)
    if not reply.is_text:
        return reply.give({"removed": removed})
    if everything:
        size = size_of(sum(entry.size_bytes for entry in listed))
        return reply.say(f"removed {count_of(len(removed), 'output')} ({size})\n")
    return reply.say("".join(f"removed {handle}\n" for handle in removed))


@app.command("gc")
def collect(
    context: typer.Context,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="clean the store that all hosts read, by age only, instead of this host"
        ),
    ] = False,
    store: StoreUrl = None,
    output: Output = None,
) -> int:
    """Remove outputs over the limits of age and total size, and leftovers of interrupted runs.

    Storing does the same from time to time. --spill-days and --spill-total, their variables and config keys
    set the limits. What was stored or read within the last hour is always kept. A store that all hosts read
    is cleaned only with --shared, by the age of the outputs.
    """
    env: Environment = context.obj
    reply = Reply(env, output)
    settings = decide((), "run", env)
    retention = Retention(int(settings["spill_days"] or 0), int(settings["spill_total"] or 0))
    opened = opened_store(env, store)
    cleaned = shared_part(opened).clean(retention.days) if shared else opened.clean(retention, env.now())
    freed = sum(entry.size_bytes for entry in cleaned.removed)
    if reply.is_text:
        left_overs = f", {cleaned.left_overs} leftovers of interrupted runs" if cleaned.left_overs else ""
        return reply.say(
            f"removed {len(cleaned.removed)} ({size_of(freed)}){left_overs}; "
            f"kept {cleaned.kept} ({size_of(cleaned.kept_bytes)})\n"
        )
    counts = {"freed_bytes": freed, "kept": cleaned.kept, "kept_bytes": cleaned.kept_bytes}
    removed = [entry.handle for entry in cleaned.removed]
    return reply.give({"removed": removed, **counts, "left_overs": cleaned.left_overs})


def opened_store(env: Environment, given: str | None) -> "Store":
    """Return the store of a subcommand. `given` is the value of its flag."""
    return open_store(with_store(env, given))


def shared_part(store: "Store") -> "SharedOutputs":
    """Return what all hosts read; `UsageError` if there is no such store."""
    if store.shared is None:
        raise UsageError("--shared needs a store that all hosts read: give --store, or set TOKCAP_STORE")
    return store.shared


def entry_numbers(entry: ListedOutput, store: "Store | None") -> dict[str, object]:
    """Return an entry for programs. If its record is damaged, it has only what the files tell.

    Without a store, it has no files on this host.
    """
    local_path = store.local_path(entry.handle) if store else None
    found: dict[str, object] = {
        "handle": entry.handle,
        "path": None if local_path is None else readable(local_path),
        "size_bytes": entry.size_bytes,
        "stored_at": int(entry.stored_at),
        "damaged": entry.is_damaged,
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


def row_of_running(entry: "Running", now: float) -> tuple[str, ...]:
    command = printable(" ".join(entry.command) or NO_COMMAND, LONGEST_COMMAND_CHARACTERS)
    return (entry.name, age_of(now - entry.started_at), "-", "-", "runs", command)


def row_of(entry: ListedOutput, now: float) -> tuple[str, ...]:
    """Return an entry for people."""
    record, age = entry.record, age_of(now - entry.stored_at)
    if record is None:
        # In a list of what all hosts read, records are not read.
        about = "(record is damaged)" if entry.is_damaged else NO_COMMAND
        return (entry.handle, age, size_of(entry.size_bytes), "-", "-", about)
    totals = [streams["out"] for streams in record.tokens.values() if "out" in streams]
    status = "-" if record.exit_status is None else str(record.exit_status)
    shown = printable(" ".join(record.command), LONGEST_COMMAND_CHARACTERS) if record.command else NO_COMMAND
    shown = f"(damaged) {shown}" if entry.is_damaged else shown
    size = size_of(sum(record.stored_bytes.values())) + ("" if record.complete else "+")
    return (entry.handle, age, size, str(totals[0]) if totals else "-", status, shown)
