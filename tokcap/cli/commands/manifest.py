"""`tokcap manifest`: describe every command and option for programs, so that they can build any call."""

from __future__ import annotations

from tokcap.cli.description import OUTPUT, Flag, command
from tokcap.cli.kinds import Choice, LineOfText
from tokcap.cli.reply import Reply
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from tokcap.cli.description import Argument, Command, Danger
    from tokcap.cli.options import Names
    from tokcap.environment import Environment

# What a value of each type looks like on the command line.
TYPES: dict[str, dict[str, object]] = {
    "integer": {"description": "decimal digits, no sign; k: 1,000, M: 1,000,000", "examples": ["500", "4k"]},
    "number": {"description": "a decimal number", "examples": ["0.25"]},
    "string": {"description": "text on one line", "examples": ["name"]},
    "boolean": {"description": "takes no value: the flag itself turns it on", "examples": []},
    "choice": {"description": "one of the words in `enum`", "examples": []},
    "size": {"description": "bytes, with an optional unit", "examples": ["4096", "64KiB", "2G"]},
    "duration": {"description": "seconds, with an optional unit", "examples": ["90", "1.5m", "500ms"]},
}

# What a caller must be allowed to do on this machine. tokcap itself does not check it.
SCOPES: dict[Danger, list[str]] = {
    "safe": ["read"],
    "writes": ["read", "write"],
    "destructive": ["read", "write", "delete"],
    "runs_commands": ["read", "write", "execute"],
}


@command(
    "manifest",
    flags=(
        Flag(("--etag",), "the etag of the manifest that the caller already has", LineOfText(), "E"),
        Flag(OUTPUT.spellings, OUTPUT.help, Choice(("json", "text")), "", "json", "json"),
    ),
    examples=(
        ("tokcap manifest", "every command and option, in one envelope"),
        ("tokcap manifest --etag E", "data is null if nothing has changed since E"),
    ),
)
def manifest(env: Environment, *, etag: str | None, output: Literal["json", "text"]) -> int:
    """Describe every command for programs: its options, their values, exit statuses and examples.

    The output is JSON unless -o text is given. TOKCAP_OUTPUT and config.toml do not change that.
    """
    from tokcap.cli.catalog import all_commands

    reply = Reply(env, output)
    commands = all_commands()
    if reply.is_text:
        width = max(len(command.name) for command in commands)
        return reply.say("".join(f"{one.name.ljust(width)}  {one.sentence}\n" for one in commands))
    found = manifest_of(commands)
    return reply.give(None, not_modified=True) if etag == found["etag"] else reply.give(found)


COMMANDS = (manifest,)


def manifest_of(commands: Sequence[Command]) -> dict[str, object]:
    """Return the whole manifest."""
    import hashlib

    import orjson

    from tokcap import __version__
    from tokcap.core.response import SCHEMA_VERSION

    suggested = suggested_names()
    registered = {command.dotted: command_json(command, suggested) for command in commands}
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


def suggested_names() -> dict[Names, list[str]]:
    """Return names that are the same for everybody, unlike those of sessions and handles."""
    from tokcap.hooks import AGENTS
    from tokcap.tokens import tokenizer_names
    from tokcap.tokens.models import MODELS

    return {"models": [*MODELS], "tokenizers": [*tokenizer_names()], "agents": [*AGENTS]}


def command_json(command: Command, suggested: Mapping[Names, list[str]]) -> dict[str, object]:
    return {
        # The words that a call begins with.
        "argv": ["tokcap", *command.path],
        "description": command.summary,
        "details": command.details,
        "danger_level": command.danger,
        "required_scopes": SCOPES[command.danger],
        "arguments": [argument_json(argument, suggested) for argument in command.arguments],
        "flags": {flag.name: flag_json(flag, suggested) for flag in command.flags},
        "exit_codes": command.exit_meanings,
        "output_formats": list(command.output_formats),
        "examples": [{"call": example.call, "does": example.does} for example in command.examples],
    }


def argument_json(argument: Argument, suggested: Mapping[Names, list[str]]) -> dict[str, object]:
    return {
        "name": argument.metavar,
        "description": argument.help,
        "required": argument.required,
        "repeatable": argument.repeatable,
        "enum": list(argument.choices) or None,
        "suggested": suggested.get(argument.names, []),
        "names": argument.names or None,
    }


def flag_json(flag: Flag, suggested: Mapping[Names, list[str]]) -> dict[str, object]:
    """Return one flag. The keys after `enum` are there only if they apply."""
    long = [spelling for spelling in flag.spellings if spelling.startswith("--")]
    short = [spelling for spelling in flag.spellings if not spelling.startswith("--")]
    rest = {
        **bounds(flag),
        "names": flag.names,
        "suggested": suggested.get(flag.names),
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
        # No option of tokcap can be given several times with several values.
        "repeatable": False,
        "default": flag.default,
        "enum": list(flag.choices) or None,
        **{name: value for name, value in rest.items() if value not in ("", None)},
    }


def bounds(flag: Flag) -> dict[str, object]:
    if flag.type == "integer":
        return {"minimum": getattr(flag.kind, "minimum", None)}
    return {"exclusive_minimum": 0, "maximum": 1} if flag.type == "number" else {}
