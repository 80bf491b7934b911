"""Run the user's compaction hook: a shell command that makes room in the model's context."""

from __future__ import annotations

import os
import signal
import subprocess

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.environment import Environment

HOOK_SECONDS = 300


def run_compaction_hook(command: str, session: str, env: Environment) -> str:
    """Run the hook to its end; return why it failed, or an empty text if it succeeded."""
    # If the hook itself runs tokcap, that call must not run the hook again.
    variables = {**env.variables, "TOKCAP_SESSION": session, "TOKCAP_COMPACT_BEFORE_SPILL": "0"}
    try:
        # Its output is not part of the answer, so all of it goes to stderr.
        hook = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=env.stderr,
            stderr=env.stderr,
            start_new_session=True,
        )
    except OSError as error:
        return str(error.strerror)
    try:
        status = hook.wait(HOOK_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(hook.pid, signal.SIGKILL)
        hook.wait()
        return f"it was killed after {HOOK_SECONDS} seconds"
    return f"it ended with status {status}" if status else ""
