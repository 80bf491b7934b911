"""The five flags that every command gets, and the record of what a call requests with them.

This module knows no framework. It is imported at the start of every application, so it imports little.
"""

from __future__ import annotations

from tokcap.cli.kinds import Choice, WholeNumber, plain_digits, shortened
from tokcap.cli.options import BY_KEY
from tokcap.core.request import View
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record

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
HELP_PANEL = "Token budget"
# Python does not convert much longer numbers.
MOST_DIGITS = 1000

_CONTEXT_KEY = "tokcap.integrations"

_output = BY_KEY["output"].kind
assert isinstance(_output, Choice)
OUTPUT_FORMS = _output.words


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
        self._flags = NO_FLAGS
        self._arguments: tuple[str, ...] = ()
        self._capture: StdoutCapture | None = None

    @property
    def flags(self) -> FlagValues:
        """The flags read so far. Those of an inner command replace those of its group."""
        return self._flags

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the innermost command read so far."""
        return self._arguments

    @property
    def capture(self) -> StdoutCapture | None:
        """The capture of standard output, while there is one."""
        return self._capture

    def add_flag(self, key: str, value: object) -> None:
        self._flags = self._flags.but(**{key: value})

    def set_arguments(self, arguments: tuple[str, ...]) -> None:
        self._arguments = arguments

    def start_capture(self, capture: StdoutCapture) -> None:
        self._capture = capture

    def end_capture(self) -> None:
        self._capture = None


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
    assert isinstance(kind, WholeNumber)

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        digits = plain_digits(value)
        # The largest number is checked later, together with the other flags.
        if not digits or len(digits) > MOST_DIGITS or int(digits) < kind.minimum:
            raise refused(f"{shortened(value)} is not {kind.expected}")
        return int(digits)

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
