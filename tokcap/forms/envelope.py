"""The envelope: what happened in, one versioned JSON record out. Its five keys are a contract."""

from __future__ import annotations

from tokcap import exits
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tokcap.core.notice import Notice
    from tokcap.core.request import Output
    from tokcap.errors import TokcapError
    from tokcap.exits import Ending

    Scalar: TypeAlias = "int | str | bool"

SCHEMA_VERSION = "1.0"

DETAIL_CHARACTERS = 1000


class Failure(Record):
    """The `error` of an envelope."""

    code: str
    message: str
    detail: str = ""


class Meta(Record):
    """The `meta` of an envelope. A field that does not apply is None, and is not written."""

    duration_ms: int = 0
    tokenizer: str = ""
    truncated: bool | None = None
    token_limit: int | None = None
    token_offset: int | None = None
    token_count: int | None = None
    returned_tokens: int | None = None
    total_tokens: int | None = None
    total_tokens_estimate: int | None = None
    next_offset: int | None = None
    truncation_hint: str | None = None
    first_pointer: str | None = None
    next_pointer: str | None = None
    returned_count: int | None = None
    total_count: int | None = None
    handle: str | None = None
    spill_path: str | None = None
    spill_truncated: bool | None = None
    shape: str | None = None
    mode: str | None = None
    session: str | None = None
    budget_remaining: int | None = None
    exit_code: int | None = None
    exit_from: str | None = None
    signal: int | None = None
    binary: bool | None = None
    not_modified: bool | None = None
    schema_version: str = SCHEMA_VERSION

    def as_json(self) -> dict[str, Scalar]:
        return {name: value for name, value in self.__dict__.items() if value is not None}


class Response(Record):
    """One answer: the composed payload (None: there is none), and all there is to say of it."""

    status: int
    payload: bytes | None
    failure: Failure | None
    notices: tuple[Notice, ...]
    meta: Meta


def failure_of(ending: Ending | None, stderr_tail: bytes) -> Failure | None:
    """The error that a command's ending is; None if it ended well or there was none."""
    if ending is None or ending.status == exits.OK:
        return None
    detail = last_lines(stderr_tail.decode("utf-8", "replace"))
    if ending.stopped_for == "timeout":
        return Failure("TIMEOUT", "the time was up (--timeout)", detail)
    if ending.signal is not None:
        import signal

        name = signal.Signals(ending.signal).name if ending.signal in set(signal.Signals) else "unnamed"
        return Failure("COMMAND_KILLED", f"the command was killed by signal {ending.signal} ({name})", detail)
    return Failure("COMMAND_FAILED", f"the command exited with status {ending.status}", detail)


def last_lines(text: str) -> str:
    """The end of a text: whole lines if one fits, at most `DETAIL_CHARACTERS`."""
    if len(text) <= DETAIL_CHARACTERS:
        return text
    end = text[-DETAIL_CHARACTERS:]
    _, newline, lines = end.partition("\n")
    return lines if newline and lines.strip() else end


def refusal(error: TokcapError, tokenizer: str, duration_ms: int) -> Response:
    """The response to a call that was refused, or that failed before there was an answer."""
    return Response(
        status=error.exit_status,
        payload=None,
        # Names from the command line may hold bytes that are no UTF-8, and JSON must not.
        failure=Failure(error.code, str(error).encode("utf-8", "surrogateescape").decode("utf-8", "replace")),
        notices=(),
        meta=Meta(duration_ms, tokenizer, exit_code=error.exit_status, exit_from="tokcap"),
    )


def rendered(response: Response, output: Output) -> bytes:
    """The bytes for stdout."""
    if output == "text":
        return response.payload or b""
    if output == "json":
        return as_envelope(response)
    return (response.payload or b"") + as_last_line(response)


def as_envelope(response: Response) -> bytes:
    from tokcap.lean.plainjson import compact

    envelope = {
        "ok": response.status == exits.OK,
        # Spliced in as it was composed and counted, never serialised a second time.
        "data": response.payload,
        "error": error_json(response.failure),
        "warnings": warnings_json(response.notices),
        "meta": response.meta.as_json(),
    }
    return compact(envelope) + b"\n"


def as_last_line(response: Response) -> bytes:
    """`{"meta": …}`; an error or a warning stands beside it."""
    from tokcap.lean.plainjson import compact

    line: dict[str, object] = {"meta": response.meta.as_json()}
    if response.failure:
        line["error"] = error_json(response.failure)
    if response.notices:
        line["warnings"] = warnings_json(response.notices)
    return compact(line) + b"\n"


def warnings_json(notices: Sequence[Notice]) -> list[dict[str, object]]:
    return [
        {name: value for name, value in notice.__dict__.items() if value is not None and name != "of_the_cut"}
        for notice in notices
    ]


def error_json(failure: Failure | None) -> dict[str, str] | None:
    if failure is None:
        return None
    return {name: value for name, value in failure.__dict__.items() if value}
