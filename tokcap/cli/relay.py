"""The process that stays after a shell has ended, and passes on what its background processes write later.

It is a run of its own whose source is the open pipe: capped to what the answer has left of the limit, and
stored. It ends when the last of those processes does. Without it, they would get a broken pipe.
"""

from __future__ import annotations

import os

from tokcap.environment import STDERR, STDIN, STDOUT
from tokcap.source.command import LeftOver
from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokcap.core.request import Request, Stream
    from tokcap.environment import Environment
    from tokcap.pipeline import Done
    from tokcap.source.pipes import StagePipes

# With fewer tokens nothing can be shown that names where the rest is.
LEAST_TOKENS = 40
# Two texts that are counted apart can have a few tokens more together.
JOINT_TOKENS = 8
MOST_DESCRIPTORS = 1 << 20


def leave_relay(
    streams: Mapping[int, Stream],
    request: Request,
    done: Done | None,
    env: Environment,
    pipes: StagePipes | None = None,
) -> None:
    """Fork, and return in the process that the caller waits for."""
    left = tokens_left(request, done, env)
    try:
        wait, ready = os.pipe()
        is_relay = not os.fork()
    except OSError:
        # Too many processes or descriptors. Those in the background get a broken pipe.
        return
    if not is_relay:
        os.close(ready)
        # The caller may kill the process group when this process has ended. The relay has left it by then.
        os.read(wait, 1)
        return
    session = env.process_session()
    # What is stored later is `@last` where the shell was called, too.
    env = env.replace(process_session=lambda: session)
    try:
        # This closes `ready`.
        detach((*streams, *(pipes.descriptors if pipes else ())))
        pass_on(LeftOver(streams, STDOUT, pipes), request, left, env)
    finally:
        os._exit(0)


def tokens_left(request: Request, done: Done | None, env: Environment) -> int | None:
    """Return what the answer has left of the limit; None if there is no limit."""
    if request.token_limit is None:
        return None
    if done is None:
        return 0
    written = (done.response.payload or b"") + done.stderr
    used = open_tokenizer(request.tokenizer, env).count(written.decode("utf-8", "replace"))
    return max(request.token_limit - used - JOINT_TOKENS, 0)


def detach(needed: Iterable[int]) -> None:
    """Leave the session, directory and descriptors of the caller, except those that are needed."""
    os.setsid()
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, STDIN)
    first = STDERR + 1
    for descriptor in sorted(needed):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, MOST_DESCRIPTORS)


def pass_on(source: LeftOver, request: Request, left: int | None, env: Environment) -> None:
    """Pass on what fits, and read the rest all the same."""
    from tokcap.outputs import FORMS
    from tokcap.pipeline import run

    if (left is not None and left < LEAST_TOKENS) or FORMS[request.output].has_envelope:
        # There is no room, or the answer is a document that has ended.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        env, left = env.replace(stdout=nowhere, stderr=nowhere), LEAST_TOKENS
    later = request.replace(
        as_shell=False,
        token_limit=left,
        token_offset=0,
        token_count=False,
        output="text",
        keep="head",
        shape="text",
        fields="",
        mode="raw",
    )
    try:
        run(later, env, lambda _request, _env: source)
    except Exception:
        # A budget that is exhausted, for example. Nothing more can be shown.
        for _ in source.blocks():
            pass
