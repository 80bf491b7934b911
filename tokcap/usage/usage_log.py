"""What `tokcap stats` reads: a line for each run and each `show`, in a file for each day. Sizes, no content.

Loaded on every call, so it loads nothing itself, and counts next to nothing: what nobody has counted is
written down in bytes. It never fails a call: a line that cannot be written is missing, and that is all.
"""

from __future__ import annotations

import os
import time

from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens import count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import ParamSpec

    from tokcap.core.request import Request, ShowRequest, Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.errors import ReaderGone, StreamError
    from tokcap.steps.answer import Answer
    from tokcap.steps.inputs import RunInput
    from tokcap.store.base import StoredOutput

    Asked = ParamSpec("Asked")

DIRECTORY = "account"
SUFFIX = ".jsonl"
# Older days are removed by the first call of a day.
KEEP_DAYS = 90
DAY_SECONDS = 24 * 60 * 60
# A day has room for some 300,000 calls. What comes then is not written.
LARGEST_DAY_BYTES = 64 << 20

# What an envelope adds to its data is counted: that costs a tenth of what finding the window did. The rare
# answer that is larger stays uncounted.
LARGEST_COUNTED_BYTES = 32 << 10
# With all of its characters escaped, a line of three such names is below 4 KiB: one write, never divided.
LONGEST_NAME = 80

STANDARD_INPUT = "(stdin)"
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash", "fish")


def quietly(step: Callable[Asked, None]) -> Callable[Asked, None]:
    """The step if it is wanted; output and status are worth more than the account of them."""

    def noted(*args: Asked.args, **named: Asked.kwargs) -> None:
        asked: View = args[0]  # type: ignore[assignment]  # every step begins with it
        try:
            if asked.account:
                step(*args, **named)
        except Exception:  # noqa: S110  # see above
            pass

    return noted


@quietly
def note_run(
    asked: Request,
    tokenizer: Tokenizer,
    answer: Answer,
    streams: RunInput,
    failure: StreamError | ReaderGone | None,
    env: Environment,
) -> None:
    """Write down a run that was answered."""
    meta, err = answer.response.meta, streams.err
    out_tokens = counted(answer, streams.out.lost, "out", tokenizer)
    err_tokens = counted(answer, 0, "err", tokenizer) if err and err.size else 0
    known = out_tokens is not None and err_tokens is not None
    was_counted = meta.truncated is not None or meta.token_count is not None
    written = FORMS[asked.output].write(answer.response)
    note(
        asked,
        tokenizer,
        env,
        kind="run",
        command=program_name(asked.command),
        status=answer.response.status,
        handle=meta.handle,
        # What a reader who went away has got of it, nobody knows.
        shown=price(answer, written, tokenizer) if was_counted and not failure else None,
        total=(out_tokens or 0) + (err_tokens or 0) if known else None,
        # With both of them, the total can be known later: from the store, once somebody has counted there.
        estimate=None if known else meta.total_tokens_estimate,
        stderr=None if known or streams.out.lost or not was_counted else err_tokens,
        bytes=streams.size + streams.out.lost,
        shown_bytes=len(written) + len(answer.stderr),
    )


@quietly
def note_passed(
    asked: Request,
    tokenizer: Tokenizer,
    size: int,
    status: int,
    env: Environment,
    tokens: int | None = None,
) -> None:
    """Write down a run whose output was passed on as it came, and counted only if a session paid for it."""
    note(
        asked,
        tokenizer,
        env,
        kind="run",
        command=program_name(asked.command),
        status=status,
        shown=tokens,
        total=tokens,
        bytes=size,
        shown_bytes=size,
    )


@quietly
def note_show(
    asked: ShowRequest,
    tokenizer: Tokenizer,
    answer: Answer,
    entry: StoredOutput,
    failure: StreamError | ReaderGone | None,
    env: Environment,
) -> None:
    """Write down that a stored output was read. That is always counted: it lessens what the run has saved."""
    command = entry.record.command
    written = FORMS[asked.output].write(answer.response)
    note(
        asked,
        tokenizer,
        env,
        kind="show",
        # Where it is not recorded, the line of the run has it.
        command=program_name(command) if command else None,
        status=answer.response.status,
        handle=entry.handle,
        shown=None if failure else price(answer, written, tokenizer),
        bytes=entry.streams[asked.stream].size,
        shown_bytes=len(written) + len(answer.stderr),
    )


def counted(answer: Answer, lost_bytes: int, stream: Stream, tokenizer: Tokenizer) -> int | None:
    """The tokens of a whole stream, if they were counted to the end."""
    index = answer.indexes.get(stream)
    exact = index and index.checkpoints.complete and index.tokenizer == tokenizer.name and not lost_bytes
    return index.checkpoints.tokens[-1] if index and exact else None


def price(answer: Answer, written: bytes, tokenizer: Tokenizer) -> int | None:
    """What the answer costs its reader, on both streams; None if that is not known at once."""
    if answer.proven_tokens is not None:
        return answer.proven_tokens
    if len(written) + len(answer.stderr) > LARGEST_COUNTED_BYTES:
        return None
    return count_bytes(written, tokenizer) + count_bytes(answer.stderr, tokenizer)


def program_name(command: Sequence[str]) -> str:
    """The program alone. Its arguments may be secrets, and the first word of a shell string says nothing."""
    if not command:
        return STANDARD_INPUT
    name = os.path.basename(command[0])
    runs_a_string = name in SHELLS and any(
        word[:1] == "-" and word[:2] != "--" and "c" in word for word in command[1:-1]
    )
    return f"{name} -c" if runs_a_string else name


def note(view: View, tokenizer: Tokenizer, env: Environment, **fields: int | str | None) -> None:
    """Append a line."""
    now = env.now()
    fields = {"at": int(now), **fields, "session": view.session or None, "tokenizer": tokenizer.name}
    members = [f'"{name}":{value_text(value)}' for name, value in fields.items() if value is not None]
    # Begun on a new line: one that was torn by a full disk must not take the next one along.
    line = f"\n{{{','.join(members)}}}\n".encode()
    append(env.data_dir(), day_of(now) + SUFFIX, line, now)


def day_of(seconds: float) -> str:
    """The day of a time, here."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def value_text(value: int | str) -> str:
    """A number or a name as JSON."""
    if isinstance(value, int):
        return str(value)
    name = value[:LONGEST_NAME]
    if name.isascii() and name.isprintable() and not ('"' in name or "\\" in name):
        return f'"{name}"'
    from tokcap.lean.plainjson import dumps

    return dumps(name.encode("utf-8", "replace").decode())


FOLLOW_NOTHING = os.O_NOFOLLOW | os.O_CLOEXEC


def append(data_dir: str, name: str, line: bytes, now: float) -> None:
    """One write to a private file in a private directory, undisturbed by whoever else writes meanwhile."""
    try:
        directory = open_own(os.path.join(data_dir, DIRECTORY), data_dir)
    except FileNotFoundError:
        from tokcap.system import private_files as private

        private.make_directory(data_dir, close=False)
        private.make_directory(os.path.join(data_dir, DIRECTORY))
        directory = open_own(os.path.join(data_dir, DIRECTORY), data_dir)
    try:
        # Not to wait for a reader, should it be a pipe.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | FOLLOW_NOTHING
        file = os.open(name, flags, 0o600, dir_fd=directory)
        try:
            found = os.fstat(file)
            if found.st_uid != os.geteuid() or found.st_mode >> 12 != 0o10:
                return
            if not found.st_size:
                # The umask may have taken away what the owner needs.
                os.fchmod(file, 0o600)
                remove_old_days(directory, now)
            if found.st_size < LARGEST_DAY_BYTES:
                os.write(file, line)
        finally:
            os.close(file)
    finally:
        os.close(directory)


def open_own(path: str, parent: str) -> int:
    """A directory, by no link on the last two steps to it; one of somebody else is refused."""
    upper = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NOTHING)
    try:
        directory = os.open(
            os.path.basename(path), os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NOTHING, dir_fd=upper
        )
    finally:
        os.close(upper)
    if os.fstat(directory).st_uid != os.geteuid():
        os.close(directory)
        raise PermissionError(path)
    return directory


def remove_old_days(directory: int, now: float) -> None:
    """What is older than `KEEP_DAYS`."""
    oldest = day_of(now - KEEP_DAYS * DAY_SECONDS)
    for name in os.listdir(directory):
        if name.endswith(SUFFIX) and name < oldest:
            os.unlink(name, dir_fd=directory)
