"""Log each answered call in the usage log: take the numbers from the answer, and write one line.

Every call loads this module. It counts almost nothing: uncounted output is logged in bytes. A
failure here never fails the call; the line is missing then.
"""

from __future__ import annotations

import os

from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens import count_bytes
from tokcap.usage.usage_log import UsageLine, append_line

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

    Arguments = ParamSpec("Arguments")

# Counting what an envelope adds to its data takes a tenth of the time that finding the window took. A larger
# answer is rare, and stays uncounted.
LARGEST_COUNTED_BYTES = 32 << 10

STANDARD_INPUT = "(stdin)"
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash", "fish")


def quietly(note: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Call the function only if the usage log is on, and ignore its failures."""

    def noted(*args: Arguments.args, **named: Arguments.kwargs) -> None:
        view: View = args[0]  # type: ignore[assignment]  # the first argument of every function here
        try:
            if view.account:
                note(*args, **named)
        except Exception:  # noqa: S110  # output and exit status matter more than the log
            pass

    return noted


@quietly
def note_run(
    asked: Request,
    tokenizer: Tokenizer,
    answer: Answer,
    given: RunInput,
    failure: StreamError | ReaderGone | None,
    env: Environment,
) -> None:
    """Log a run whose output was answered from what was captured."""
    meta, err = answer.response.meta, given.err
    out_tokens = exact_tokens(answer, given.out.lost, "out", tokenizer)
    err_tokens = exact_tokens(answer, 0, "err", tokenizer) if err and err.size else 0
    is_known = out_tokens is not None and err_tokens is not None
    was_counted = meta.truncated is not None or meta.token_count is not None
    written, written_bytes = answer_as_written(asked.output, answer)
    line = UsageLine(
        kind="run",
        tokenizer=tokenizer.name,
        status=answer.response.status,
        output_bytes=given.size + given.out.lost,
        shown_bytes=written_bytes + len(answer.all_stderr),
        program=program_name(asked.command),
        handle=meta.handle,
        session=asked.session or None,
        # If the reader closed its end, it is unknown how much it has read.
        shown_tokens=answer_tokens(answer, written, tokenizer) if was_counted and not failure else None,
        total_tokens=(out_tokens or 0) + (err_tokens or 0) if is_known else None,
        estimated_tokens=None if is_known else meta.total_tokens_estimate,
        stderr_tokens=None if is_known or given.out.lost or not was_counted else err_tokens,
    )
    append_line(line, env.data_dir(), env.now())


@quietly
def note_passed(
    asked: Request,
    tokenizer: Tokenizer,
    size_bytes: int,
    status: int,
    env: Environment,
    tokens: int | None = None,
) -> None:
    """Log a run whose output was streamed through. It was counted only if a session paid for it."""
    line = UsageLine(
        kind="run",
        tokenizer=tokenizer.name,
        status=status,
        output_bytes=size_bytes,
        shown_bytes=size_bytes,
        program=program_name(asked.command),
        session=asked.session or None,
        shown_tokens=tokens,
        total_tokens=tokens,
    )
    append_line(line, env.data_dir(), env.now())


@quietly
def note_show(
    asked: ShowRequest,
    tokenizer: Tokenizer,
    answer: Answer,
    stored: StoredOutput,
    failure: StreamError | ReaderGone | None,
    env: Environment,
) -> None:
    """Log that a stored output was read. It is always counted, because it reduces what the run has saved."""
    command = stored.record.command
    written, written_bytes = answer_as_written(asked.output, answer)
    line = UsageLine(
        kind="show",
        tokenizer=tokenizer.name,
        status=answer.response.status,
        output_bytes=stored.streams[asked.stream].size,
        shown_bytes=written_bytes + len(answer.all_stderr),
        # If the store did not record the command, the line of the run has it.
        program=program_name(command) if command else None,
        handle=stored.handle,
        session=asked.session or None,
        shown_tokens=None if failure else answer_tokens(answer, written, tokenizer),
    )
    append_line(line, env.data_dir(), env.now())


def exact_tokens(answer: Answer, lost_bytes: int, stream: Stream, tokenizer: Tokenizer) -> int | None:
    """Return the tokens of a whole stream; None if it was not counted to its end."""
    index = answer.indexes.get(stream)
    is_exact = index and index.checkpoints.complete and index.tokenizer == tokenizer.name and not lost_bytes
    return index.total_tokens if index and is_exact else None


def answer_as_written(output: str, answer: Answer) -> tuple[bytes | None, int]:
    """Return what was written to stdout, unless it is long, and its size."""
    form, response = FORMS[output], answer.response
    if response.is_long:
        return None, sum(map(len, form.blocks(response)))
    written = form.write(response)
    return written, len(written)


def answer_tokens(answer: Answer, written: bytes | None, tokenizer: Tokenizer) -> int | None:
    """Return what the answer costs its reader on both streams; None if counting it would take long."""
    if answer.proven_tokens is not None:
        return answer.proven_tokens
    if written is None or len(written) + len(answer.all_stderr) > LARGEST_COUNTED_BYTES:
        return None
    return count_bytes(written, tokenizer) + count_bytes(answer.all_stderr, tokenizer)


def program_name(command: Sequence[str]) -> str:
    """Return the program without its arguments, which may contain secrets. A shell string becomes `sh -c`."""
    if not command:
        return STANDARD_INPUT
    name = os.path.basename(command[0])
    runs_a_string = name in SHELLS and any(
        word[:1] == "-" and word[:2] != "--" and "c" in word for word in command[1:-1]
    )
    return f"{name} -c" if runs_a_string else name
