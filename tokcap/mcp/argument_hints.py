"""What a model probably meant by a call that cannot be made: in messages that it reads and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.core.spelling import nearest
from tokcap.errors import CommandNotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Names that the tools of other servers have for an argument.
OTHER_NAMES = {
    "shell": "command cmd script bash code command_line string",
    "argv": "args arguments words",
    "limit": "max_tokens tokens token_limit max_output_tokens n max",
    "offset": "token_offset start skip next_offset from",
    "cwd": "dir directory workdir working_directory workingdirectory path",
    "stdin": "input",
    "timeout": "timeout_seconds timeout_sec max_time",
    "handle": "id output_id ref name",
    "pattern": "regex query grep search",
    "context": "lines around",
}
AS_SHELL = "pass a command line as shell"


def unknown_argument(tool: str, name: str, known: Collection[str]) -> UsageError:
    """Return the error about an argument that a tool does not have."""
    plain = name.lower().replace("-", "_")
    meant = [each for each, others in OTHER_NAMES.items() if each in known and plain in others.split()]
    near = meant[0] if meant else nearest(plain, known)
    names = f"its arguments are {', '.join(sorted(known))}" if known else "it takes none"
    hint = f"did you mean {near}?" if near else names
    return UsageError(f"{tool}: unknown argument {name!r}; {hint}")


def command_line_in_argv(error: CommandNotFound, argv: Sequence[str]) -> CommandNotFound:
    """Return the error of a command that was not found, with a hint if its name is a whole command line."""
    is_line = len(argv) == 1 and any(ch.isspace() or ch in "|&;<>$`" for ch in argv[0])
    return CommandNotFound(f"{error}; {AS_SHELL}") if is_line else error
