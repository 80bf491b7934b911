"""`tokcap manifest`: every command and option for programs, so that a call can be built without help."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Literal

import orjson
import typer

from tokcap import __version__
from tokcap.cli.described import about, all_commands
from tokcap.cli.responses import Reply
from tokcap.core.response import SCHEMA_VERSION
from tokcap.hooks import AGENTS
from tokcap.tokens import tokenizer_names
from tokcap.tokens.models import MODELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.cli.catalog import Argument, Command, Danger, Flag
    from tokcap.cli.options import Names

# What a value of each type looks like on the command line.
TYPES: dict[str, dict[str, object]] = {
    "integer": {"description": "decimal digits, no sign", "examples": ["500"]},
    "number": {"description": "a decimal number", "examples": ["0.25"]},
    "string": {"description": "text on one line", "examples": ["name"]},
    "boolean": {"description": "takes no value: the flag itself turns it on", "examples": []},
    "choice": {"description": "one of the words in `enum`", "examples": []},
    "size": {"description": "bytes, with a unit if you like", "examples": ["4096", "64KiB", "2G"]},
    "duration": {"description": "seconds, with a unit if you like", "examples": ["90", "1.5m", "500ms"]},
}

# What a caller has to be allowed to do on this machine; tokcap itself asks nobody.
SCOPES: dict[Danger, list[str]] = {
    "safe": ["read"],
    "writes": ["read", "write"],
    "destructive": ["read", "write", "delete"],
    "runs_commands": ["read", "write", "execute"],
}


# Names that are the same for everybody; those of sessions and handles come and go.
SUGGESTED: dict[Names, list[str]] = {
    "models": [*MODELS],
    "tokenizers": [*tokenizer_names()],
    "agents": [*AGENTS],
}


@about(
    ("tokcap manifest", "every command and option, in one envelope"),
    ("tokcap manifest --etag E", "data is null if nothing has changed since E"),
)
def manifest(
    context: typer.Context,
    etag: Annotated[str, typer.Option("--etag", metavar="E", help="the etag of a manifest at hand")] = "",
    output: Annotated[
        Literal["json", "text"], typer.Option("-o", "--output", help="form of the response")
    ] = "json",
) -> int:
    """Describe every command for programs: its options, their values, exit statuses and examples.

    The answer is JSON unless text is asked for, whatever TOKCAP_OUTPUT and config.toml say.
    """
    from tokcap.cli.application import app

    reply = Reply(context, output)
    commands = all_commands(app)
    if reply.is_text:
        width = max(len(command.name) for command in commands)
        return reply.say("".join(f"{one.name.ljust(width)}  {one.sentence}\n" for one in commands))
    found = described(commands)
    return reply.give(None, not_modified=True) if etag == found["etag"] else reply.give(found)


def described(commands: Sequence[Command]) -> dict[str, object]:
    """The whole manifest."""
    registered = {command.dotted: command_json(command) for command in commands}
    content: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "framework_version": __version__,
        "types": TYPES,
        "commands": registered,
    }
    digest = hashlib.blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=12)
    return {
        "schema_version": SCHEMA_VERSION,
        "framework_version": __version__,
        "etag": digest.hexdigest(),
        **content,
    }


def command_json(command: Command) -> dict[str, object]:
    return {
        # The words to begin a call with.
        "argv": ["tokcap", *command.path],
        "description": command.summary,
        "details": command.details,
        "danger_level": command.danger,
        "required_scopes": SCOPES[command.danger],
        "arguments": [argument_json(argument) for argument in command.arguments],
        "flags": {flag.name: flag_json(flag) for flag in command.flags},
        "exit_codes": command.exit_meanings,
        "output_formats": list(command.output_formats),
        "examples": [{"call": example.call, "does": example.does} for example in command.examples],
    }


def argument_json(argument: Argument) -> dict[str, object]:
    return {
        "name": argument.metavar,
        "description": argument.help,
        "required": argument.required,
        "repeatable": argument.repeatable,
        "enum": list(argument.choices) or None,
        "suggested": SUGGESTED.get(argument.names, []),
        "names": argument.names or None,
    }


def flag_json(flag: Flag) -> dict[str, object]:
    """One flag. What stands behind `enum` is there only where it applies."""
    long = [spelling for spelling in flag.spellings if spelling.startswith("--")]
    short = [spelling for spelling in flag.spellings if not spelling.startswith("--")]
    rest = {
        **bounds(flag),
        "names": flag.names,
        "suggested": SUGGESTED.get(flag.names),
        "expected": flag.expected,
        "negation": flag.negation,
        "variable": flag.variable,
        "default_meaning": flag.shown_default if flag.default is None else "",
    }
    return {
        "flag": long[0] if long else short[0],
        "short": short[0] if short else None,
        "description": flag.help,
        "type": flag.type,
        "required": flag.required,
        "repeatable": flag.repeatable,
        "default": flag.default,
        "enum": list(flag.choices) or None,
        **{name: value for name, value in rest.items() if value not in ("", None)},
    }


def bounds(flag: Flag) -> dict[str, object]:
    if flag.type == "integer":
        return {"minimum": getattr(flag.kind, "minimum", None)}
    return {"exclusive_minimum": 0, "maximum": 1} if flag.type == "number" else {}
