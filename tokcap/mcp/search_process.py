"""Search a stored output in a child process, because a bad pattern can run forever and block the server.

The server calls `search`. The child process runs `answer_search`.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

from tokcap.api.calls import show
from tokcap.api.captured_environment import CapturedEnvironment
from tokcap.errors import TokcapError

if TYPE_CHECKING:
    from typing import Unpack

    from tokcap.api.keywords import ShowOptions
    from tokcap.api.results import Capped
    from tokcap.environment import ToolNames
    from tokcap.mcp.cancellation import Cancellation

# The child process uses the server's `sys.path`, and never the current directory.
CHILD_CODE = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from tokcap.mcp.search_process import answer_search; answer_search()"
)


def search(
    handle: str, cancellation: Cancellation, tools: ToolNames, *, limit: int, **options: Unpack[ShowOptions]
) -> Capped[str]:
    """Run `show` in a child process, which is killed if the call is cancelled.

    `tools` are those that its mark names.
    """
    with subprocess.Popen(
        (sys.executable, "-P", "-c", CHILD_CODE, *sys.path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        cancellation.stops(child.kill)
        try:
            reply, _ = child.communicate(pickle.dumps((tools, handle, {"limit": limit, **options})))
        except BaseException:
            child.kill()
            raise
    if not reply:
        raise TokcapError(f"internal error: the search ended with status {child.returncode}")
    found: Capped[str] | TokcapError = pickle.loads(reply)  # noqa: S301  # written by the child process above
    if isinstance(found, TokcapError):
        raise found
    return found


def answer_search() -> None:
    """Read the arguments of `show` from stdin and write its result, or its error, to stdout."""
    tools, handle, options = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  # written by `search`
    CapturedEnvironment.for_tool_callers(tools)
    found: Capped[str] | TokcapError
    try:
        found = show(handle, **options)
    except TokcapError as error:
        found = error
    sys.stdout.buffer.write(pickle.dumps(found))
