"""Check the arguments of a call. Messages say what a model probably meant: it reads and answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.core.spelling import nearest
from tokcap.errors import CommandNotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.mcp.tool_table import Argument, Tool

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


def checked(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name; `UsageError` for the first that is wrong.

    An argument that is null counts as not given: some models give every argument.
    """
    known = {argument.name: argument for argument in tool.arguments}
    for unknown in sorted(given.keys() - known.keys()):
        raise unknown_argument(tool, unknown)
    values = {each: value_of(known[each], value) for each, value in given.items() if value is not None}
    for argument in tool.arguments:
        if argument.required and argument.name not in values:
            raise UsageError(f"{tool.name}: the argument {argument.name} is missing")
    return values


def value_of(argument: Argument, value: Any) -> Any:
    """Return the value of an argument. A number may be written as a string, as some models do."""
    if argument.kind == "strings":
        if isinstance(value, list) and all(isinstance(word, str) for word in value):
            return value
        hint = f"; {AS_SHELL}" if argument.name == "argv" else ""
        raise UsageError(f"{argument.name}: a list of strings is expected{hint}")
    if argument.kind == "integer":
        return whole_number(argument.name, value)
    if argument.kind == "number":
        # A duration may have a unit, which is checked later: 90, "1.5m".
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return value
        raise UsageError(f"{argument.name}: a number is expected")
    if not isinstance(value, str):
        raise UsageError(f"{argument.name}: a string is expected")
    if argument.choices and value not in argument.choices:
        raise UsageError(f"{argument.name}: {value!r} is not one of {', '.join(argument.choices)}")
    return value


def whole_number(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    raise UsageError(f"{name}: a whole number is expected")


def unknown_argument(tool: Tool, name: str) -> UsageError:
    """Return the error about an argument that a tool does not have."""
    known = [argument.name for argument in tool.arguments]
    plain = name.lower().replace("-", "_")
    meant = [each for each, others in OTHER_NAMES.items() if each in known and plain in others.split()]
    near = meant[0] if meant else nearest(plain, known)
    names = f"its arguments are {', '.join(sorted(known))}" if known else "it takes none"
    hint = f"did you mean {near}?" if near else names
    return UsageError(f"{tool.name}: unknown argument {name!r}; {hint}")


def command_line_in_argv(error: CommandNotFound, argv: Sequence[str]) -> CommandNotFound:
    """Return the error of a command that was not found, with a hint if its name is a whole command line."""
    is_line = len(argv) == 1 and any(ch.isspace() or ch in "|&;<>$`" for ch in argv[0])
    return CommandNotFound(f"{error}; {AS_SHELL}") if is_line else error
