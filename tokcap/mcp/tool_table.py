"""The tools as a client lists them: names, descriptions and arguments.

The model reads all of it on every turn, so every word is paid for again and again.
"""

from __future__ import annotations

from tokcap.cli.options import BY_KEY
from tokcap.environment import ToolReader
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    Kind: TypeAlias = Literal["string", "integer", "number", "boolean", "strings"]

# With "pass", a command would write to the streams of the server.
UNUSABLE_VALUES = {"stderr": ("pass",)}
# Claude Code keeps a result with more characters than this in a file, although it is within a limit already.
LARGEST_RESULT = {"anthropic/maxResultSizeChars": 500_000}


class Argument(Record):
    """One argument of a tool."""

    name: str
    kind: Kind = "string"
    help: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    # The smallest number.
    least: int = 0

    @property
    def schema(self) -> dict[str, Any]:
        """The argument in JSON Schema."""
        schema: dict[str, Any] = {"type": self.kind}
        if self.kind == "strings":
            schema = {"type": "array", "items": {"type": "string"}}
        if self.choices:
            schema["enum"] = [*self.choices]
        return {**schema, "description": self.help} if self.help else schema


class Tool(Record):
    """One tool: what the model reads about it."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    reads_only: bool = True

    def listed(self) -> dict[str, Any]:
        """Return the tool as `tools/list` has it."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {each.name: each.schema for each in self.arguments},
        }
        if required := [argument.name for argument in self.arguments if argument.required]:
            schema["required"] = required
        hints = {"readOnlyHint": True, "openWorldHint": False}
        if not self.reads_only:
            hints = {"destructiveHint": True, "openWorldHint": True}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema,
            "annotations": hints,
            "_meta": LARGEST_RESULT,
        }


def choice(name: str, help: str = "") -> Argument:  # noqa: A002  # as the field is named
    """Return an argument that takes the values of the option of the same name."""
    words = BY_KEY[name].value_name.split("|")
    usable = tuple(word for word in words if word not in UNUSABLE_VALUES.get(name, ()))
    return Argument(name, help=help, choices=usable)


LIMIT = Argument("limit", "integer", "most tokens", least=1)
OFFSET = Argument("offset", "integer", "token to start at")
HANDLE = Argument("handle", required=True)
ASK = Argument("ask")
FIELDS = Argument("fields", help="keys or columns: a,b.c")
# A mark names it if a session has chosen a shorter mode.
MODE = Argument("mode")

TIMEOUT = Argument("timeout", "number", "seconds")

TOOLS = (
    Tool(
        "run",
        "Run a command. Output over the limit is stored: go on with show or grep.",
        (
            Argument("shell", help="a command line"),
            Argument("argv", "strings", "or its words"),
            Argument("cwd"),
            Argument("stdin"),
            TIMEOUT,
            Argument("background", "boolean", "then use wait"),
            choice("stderr"),
            LIMIT,
            choice("keep"),
            ASK,
            FIELDS,
        ),
        reads_only=False,
    ),
    Tool(
        "wait",
        "Read what a background command has written since.",
        (
            HANDLE.replace(required=False),
            Argument("until", help="Python regex"),
            TIMEOUT.replace(help=""),
            LIMIT.replace(help=""),
        ),
    ),
    Tool(
        "show",
        "Read a stored output.",
        (
            HANDLE.replace(help="from a result; @last: the newest"),
            OFFSET,
            LIMIT,
            choice("stream"),
            Argument("pointer", help="/items/3"),
            choice("keep"),
            ASK,
            FIELDS.replace(help=""),
            MODE,
        ),
    ),
    Tool(
        "grep",
        "Search a stored output. Matches are LINE:TOKEN:TEXT; TOKEN is an offset for show.",
        (
            HANDLE,
            Argument("pattern", help="Python regex", required=True),
            Argument("context", "integer", "lines around a match"),
            OFFSET,
            LIMIT,
            choice("stream"),
            MODE,
        ),
    ),
    Tool("budget_status", "Tokens left for results.", ()),
)
BY_NAME = {tool.name: tool for tool in TOOLS}

# The tool that the proxy adds to those of another server.
PROXY_TOOL = Tool(
    "tokcap_show",
    "Read the rest of a result that was cut: a window at an offset, lines that match a pattern, or the value"
    " at a JSON pointer.",
    (
        HANDLE.replace(help="from the mark at the cut"),
        OFFSET,
        Argument("pattern", help="Python regex"),
        Argument("pointer", help="/items/3"),
        Argument("context", "integer"),
        LIMIT,
        MODE,
    ),
)
PROXY_READER = ToolReader(PROXY_TOOL.name, PROXY_TOOL.name)
