"""The five flags that every command gets, what a call requests with them, and the table of frameworks.

This module knows no framework. It is imported at the start of every application, so it imports little.
"""

from __future__ import annotations

import sys
from importlib import import_module

from tokcap.cli.kinds import Choice
from tokcap.cli.options import BY_KEY
from tokcap.core.request import View
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tokcap.core.request import Output
    from tokcap.integrations.stdout_capture import StdoutCapture

KEYS = ("token_limit", "token_offset", "token_count", "tokenizer", "output")
SPELLINGS = tuple(BY_KEY[key].flag for key in KEYS)
# A command may have a parameter `output` that is not the option `--output`. The prefix avoids a clash.
PARAMETER_PREFIX = "tokcap_"
SUGGESTED_TOKENIZERS = ("cl100k_base", "o200k_base", "approx")

_CONTEXT_KEY = "tokcap.integrations"

_output = BY_KEY["output"].kind
assert isinstance(_output, Choice)
OUTPUT_FORMS = _output.words


class Framework(Record):
    """How a command-line framework declares options, and how its programs end."""

    # The added flags, as parameters of this framework. All commands share them.
    flags: Sequence[Any]
    # The base class of errors that the framework prints, and that of errors in the command line.
    shown_error: type[Any]
    usage_error: type[Any]
    # Raised to end the program with an exit status, and to abort it.
    exit: type[Any]
    abort: type[Exception]
    # The exit status after Ctrl-C.
    interrupted_status: int


# By the module that defines the classes of commands: their names, and our module with a function
# `framework(tokenizer)`. Typer comes first: in some versions its commands are Click commands too.
FRAMEWORKS = {
    "typer.core": (("TyperCommand", "TyperGroup"), "tokcap.integrations.typer_framework"),
    "click": (("Command",), "tokcap.integrations.click_framework"),
}


def framework_of(command: object, tokenizer: str) -> Framework | None:
    """Return the framework of a command, or None. `tokenizer` is the default that help shows."""
    for module, (names, adapter) in FRAMEWORKS.items():
        if any(is_instance(command, module, name) for name in names):
            found: Framework = import_module(adapter).framework(tokenizer)
            return found
    return None


def is_instance(thing: object, module: str, name: str) -> bool:
    """Return whether `thing` is an instance of a class, without importing the module of the class."""
    cls = getattr(sys.modules.get(module), name, None)
    return cls is not None and isinstance(thing, cls)


class FlagValues(Record):
    """The values of the flags in one call. None or False: the flag was not given."""

    token_limit: int | None = None
    token_offset: int | None = None
    token_count: bool = False
    tokenizer: str | None = None
    output: Output | None = None


NO_FLAGS = FlagValues()


class Call:
    """The state of one call of the application. Its nested contexts (group, subcommand) share it."""

    def __init__(self) -> None:
        # The flags read so far. Those of an inner command replace those of its group.
        self.flags = NO_FLAGS
        # The arguments of the innermost command read so far.
        self.arguments: tuple[str, ...] = ()
        # The capture of standard output, while there is one.
        self.capture: StdoutCapture | None = None

    def add_flag(self, key: str, value: object) -> None:
        self.flags = self.flags.replace(**{key: value})

    def note_arguments(self, arguments: tuple[str, ...]) -> None:
        self.arguments = arguments

    def note_capture(self, capture: StdoutCapture | None) -> None:
        self.capture = capture


def call_of(context: Any) -> Call:
    """Return the call that a context belongs to."""
    call: Call = context.meta.setdefault(_CONTEXT_KEY, Call())
    return call


def store_flag(context: Any, parameter: Any, value: Any) -> Any:
    """Store the value of one flag. The framework calls this when it has parsed the flag."""
    # Compare by identity: an offset of 0 is a value, although 0 == False.
    if value is not None and value is not False and not context.resilient_parsing:
        # Typer passes a member of an `Enum`, Click a plain string.
        call_of(context).add_flag(
            parameter.name.removeprefix(PARAMETER_PREFIX), getattr(value, "value", value)
        )
    return value


def number_reader(key: str, refused: type[Exception]) -> Callable[[Any], Any]:
    """Return a function that reads the number of a flag as tokcap does: `4000`, `4,000`, `4k`."""
    kind = BY_KEY[key].kind

    def read(value: Any) -> Any:
        try:
            return kind.read(value) if isinstance(value, str) else value
        except ValueError as error:
            raise refused(str(error)) from None

    return read


def may_contain_flag(arguments: Sequence[str]) -> bool:
    """Return whether an argument looks like one of the flags. It may still be the value of another option."""
    return any(argument.partition("=")[0] in SPELLINGS for argument in arguments)


def guess_output(arguments: Sequence[str]) -> Output:
    """Guess the requested form of output from arguments that could not be parsed."""
    found = View.output
    for number, argument in enumerate(arguments):
        if argument == "--":
            break
        name, equals, value = argument.partition("=")
        if name == BY_KEY["output"].flag:
            value = value if equals else "".join(arguments[number + 1 : number + 2])
            found = value if value in FORMS else View.output  # type: ignore[assignment]  # a known name
    return found
