"""The wrapper's own parser reads a command line as Typer does, given the same table.

They differ in one thing, on purpose: a value that a later one replaces is looked at all the same, where
Typer reads the last one only. A mistake in it is still one. What Typer has no word for is left out here:
subcommands, `-c STRING`, and `--model`, which stands for other options.
"""

from __future__ import annotations

import inspect
from typing import Annotated

import typer
from hypothesis import event, example, given
from hypothesis import strategies as st

from tests.support.tiers import examples
from tokcap.cli.kinds import (
    Choice,
    Duration,
    Fraction,
    LineOfText,
    Name,
    ServerUrl,
    Size,
    Switch,
    WholeNumber,
)
from tokcap.cli.options import options_of
from tokcap.cli.values import decide
from tokcap.cli.words import take_apart
from tokcap.environment import Environment
from tokcap.errors import UsageError

REFUSED = "refused"
TABLE = [option for option in options_of("run") if option.name != "model"]

# What Typer raises of a command line that it cannot read, wherever this version keeps that class.
TyperRefuses = typer.BadParameter.__mro__[1]

GOOD = {
    WholeNumber: ["1", "500", "007", "9223372036854775807", "4k", "4,000", "1.5M"],
    Name: ["approx", "o200k_base", "-", "-n", "a b"],
    ServerUrl: ["redis://localhost", "memory:", "x"],
    LineOfText: ["", "x", "-n", "--", "--keep=tail", "a=b", "=", " ", "…"],
    Size: ["1", "64KiB", "1.5G", "100MB"],
    Fraction: ["0.25", "1", ".5"],
    Duration: ["90", "1.5m", "500ms", "2h"],
}
BAD = {
    WholeNumber: ["", "x", "-1", "+1", "1.5", " 5", "1e3", "=5", "٣", "9" * 40, "--", "-n", "1,5", "4kb"],
    Choice: ["", "HEAD", "hea", "nothing", "--"],
    Name: ["", " "],
    ServerUrl: ["two\nlines", "\x1b[0m"],
    LineOfText: ["two\nlines", "\x1b[0m", "\u2028"],
    Size: ["0", "", "12Q", "-1", ".", "K"],
    Fraction: ["0", "1.5", "-0.5", "half", ""],
    Duration: ["0", "5d", "", "m", "-1s"],
}


def typer_command():
    """A Typer command with an option for each row, and the command's own words behind them."""
    parameters = [
        inspect.Parameter(
            option.key,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[bool | None, typer.Option(f"{option.flag}/--no-{option.name}")]
            if isinstance(option.kind, Switch)
            else Annotated[
                str | None,
                typer.Option(
                    option.flag, *([f"-{option.short}"] if option.short else []), parser=option.kind.read
                ),
            ],
        )
        for option in TABLE
    ]
    words = Annotated[list[str] | None, typer.Argument()]
    parameters.append(
        inspect.Parameter("words", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=words)
    )

    def run(**values: object) -> dict[str, object]:
        return values

    run.__signature__ = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    application = typer.Typer(add_completion=False)
    application.command(
        context_settings={"allow_interspersed_args": False, "help_option_names": ["--typers-own-help"]}
    )(run)
    return typer.main.get_command(application)


TYPER = typer_command()


def read_by_typer(argv):
    try:
        values = TYPER.main(args=list(argv), prog_name="tokcap", standalone_mode=False)
    except TyperRefuses:
        return REFUSED
    words = tuple(values.pop("words") or ())
    given = {option.key: values[option.key] for option in TABLE}
    return {
        option.key: option.default if given[option.key] is None else given[option.key] for option in TABLE
    }, words


def read_by_tokcap(argv):
    words = take_apart(argv, "run")
    if words.problems:
        return REFUSED
    try:
        values = decide(words.given, "run", Environment({"HOME": "/nonexistent"}))
    except UsageError:
        return REFUSED
    del values["model"]
    return values, words.rest


def replaced_value_is_bad(argv):
    """Whether the one difference by design shows: a bad value that another one has replaced."""
    last = dict(take_apart(argv, "run").given)
    for option, raw in take_apart(argv, "run").given:
        try:
            option.kind.read(raw)
        except ValueError:
            if raw != last[option]:
                return True
    return False


@st.composite
def spelled_options(draw):
    """One option with its value, as one word or two."""
    option = draw(st.sampled_from(TABLE))
    if isinstance(option.kind, Switch):
        negated = draw(st.booleans())
        with_value = draw(st.sampled_from(["", "", "", "", "", "=true"]))
        return [f"--{'no-' * negated}{option.name}{with_value}"]
    kind = type(option.kind)
    good = option.kind.words if kind is Choice else GOOD[kind]
    # Most are good, or hardly a line with several options would be read at all.
    value = draw(st.sampled_from(BAD[kind] if draw(st.integers(0, 11)) == 0 else good))
    spellings = [[option.flag, value], [f"{option.flag}={value}"]]
    if option.short:
        spellings += [[f"-{option.short}", value], [f"-{option.short}{value}"]]
    return draw(st.sampled_from(spellings))


STRAY = st.sampled_from(
    [
        ["--nonsense"],
        ["--nonsense=1"],
        ["--no-keep"],
        ["--token"],
        ["-z"],
        ["-n"],
        ["--sentinel"],
        ["-"],
        [""],
    ]
)
ENDS = st.sampled_from(
    [[], ["--"], ["ls"], ["--", "ls"], ["ls", "--", "-n"], ["--", "--", "-n5"], ["-", "x"], ["", "--keep"]]
)
COMMAND_WORDS = st.lists(st.sampled_from(["-n", "--keep", "x", "--", "", "-o=json", "tail", "…"]), max_size=3)


@st.composite
def command_lines(draw):
    line = []
    for part in draw(st.lists(spelled_options(), max_size=5)):
        line += part
    if draw(st.integers(0, 7)) == 0:
        line += draw(STRAY)
    end = draw(ENDS)
    return [*line, *end, *(draw(COMMAND_WORDS) if end else [])]


@examples(120)
@given(argv=command_lines())
@example(argv=["-n5", "-n", "7", "--token-limit=9", "--no-clean", "--clean", "ls", "-n", "1"])
@example(argv=["--sentinel", "--", "--", "-n"])
@example(argv=["--token-limit"])
def test_both_parsers_read_a_command_line_alike(argv):
    found = read_by_tokcap(argv)
    expected = read_by_typer(argv)
    event("refused" if expected == REFUSED else "read")
    if replaced_value_is_bad(argv):
        assert found == REFUSED
    else:
        assert found == expected


def test_a_bad_value_is_refused_even_if_a_later_one_replaces_it():
    argv = ["-n", "many", "-n", "5", "ls"]
    assert read_by_tokcap(argv) == REFUSED
    values, words = read_by_typer(argv)
    assert (values["token_limit"], words) == (5, ("ls",))
