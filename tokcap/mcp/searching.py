"""A search in a process of its own: a pattern can take for ever, and Python would answer nobody meanwhile.

This module is both ends: `search` for the server, `answer` for that process.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from typing import TYPE_CHECKING

from tokcap.api.calls import show
from tokcap.errors import TokcapError

if TYPE_CHECKING:
    from typing import Unpack

    from tokcap.api.keywords import ShowOptions
    from tokcap.api.results import Capped

# Modules come from where the server has its own, and never from the directory that it happens to work in.
START = "import sys; sys.path[:] = sys.argv[1:]; from tokcap.mcp.searching import answer; answer()"


async def search(handle: str, *, limit: int, **options: Unpack[ShowOptions]) -> Capped[str]:
    """`show`, elsewhere. It ends with the task that awaits it."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", START, *sys.path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told, _ = await child.communicate(pickle.dumps((handle, {"limit": limit, **options})))
    except asyncio.CancelledError:
        child.kill()
        await child.wait()
        raise
    if not told:
        raise TokcapError(f"internal error: the search ended with status {child.returncode}")
    found: Capped[str] | TokcapError = pickle.loads(told)  # noqa: S301  # from the process started above
    if isinstance(found, TokcapError):
        raise found
    return found


def answer() -> None:
    """The other end: what is wanted from stdin, what was found or refused to stdout."""
    handle, options = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  # from `search`
    found: Capped[str] | TokcapError
    try:
        found = show(handle, **options)
    except TokcapError as error:
        found = error
    sys.stdout.buffer.write(pickle.dumps(found))
