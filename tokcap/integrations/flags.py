"""The five flags that every command gets, and what one call asks for with them. Knows no framework."""

from __future__ import annotations

from tokcap.cli.kinds import Choice
from tokcap.cli.options import BY_KEY
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.core.request import Output
    from tokcap.integrations.taking import TakenOutput

KEYS = ("token_limit", "token_offset", "token_count", "tokenizer", "output")
SPELLINGS = tuple(BY_KEY[key].flag for key in KEYS)
# A command may have a parameter called `output` that is no `--output`; ours must not be taken for it.
OWN_NAME = "tokcap_"
TOKENIZERS = ("cl100k_base", "o200k_base", "approx")
PANEL = "Token budget"

_PLACE = "tokcap.integrations"

_output = BY_KEY["output"].kind
assert isinstance(_output, Choice)
OUTPUTS = _output.words


class Asked(Record):
    """What the flags of a call say; None or False where there is none of them."""

    token_limit: int | None = None
    token_offset: int | None = None
    token_count: bool = False
    tokenizer: str | None = None
    output: Output | None = None


NOTHING = Asked()


class Call:
    """One call of the tool: what was asked for up to now, and whether its output is being taken."""

    def __init__(self) -> None:
        self.asked = NOTHING
        # The words that the innermost command was given.
        self.words: tuple[str, ...] = ()
        self.taken: TakenOutput | None = None


def call_of(context: Any) -> Call:
    """The call that a context belongs to. Contexts inside each other share it."""
    call: Call = context.meta.setdefault(_PLACE, Call())
    return call


def remember(context: Any, parameter: Any, value: Any) -> Any:
    """Called for each flag when it was read. A flag of the inner command wins over that of a group."""
    # Not by `in`: an offset of 0 is as good as any, and equal to False.
    if value is not None and value is not False and not context.resilient_parsing:
        call = call_of(context)
        name = parameter.name.removeprefix(OWN_NAME)
        # An `Enum` stands for one of its words.
        call.asked = call.asked.but(**{name: getattr(value, "value", value)})
    return value


def may_ask(words: Sequence[str]) -> bool:
    """Whether one of the words looks like a flag; it may still be somebody's value."""
    return any(word.partition("=")[0] in SPELLINGS for word in words)


def wanted_output(words: Sequence[str]) -> Output:
    """The form in which a call that cannot be read wants to hear of it, as far as that can be told."""
    found: Output = "text"
    for number, word in enumerate(words):
        if word == "--":
            break
        name, equals, value = word.partition("=")
        if name == BY_KEY["output"].flag:
            value = value if equals else "".join(words[number + 1 : number + 2])
            found = "json" if value == "json" else "jsonl" if value == "jsonl" else "text"
    return found
