"""`tokcap manifest`: every command and option, for a program or a model, in few tokens."""

import typer

from tokcap import __version__
from tokcap.cli.application import Output, application
from tokcap.cli.catalog import HELP, all_commands
from tokcap.cli.description import Command
from tokcap.cli.options import Option
from tokcap.cli.reply import Reply
from tokcap.core.response import SCHEMA_VERSION
from tokcap.outputs import FORMS

app = application()


@app.command()
def manifest(context: typer.Context, output: Output = None) -> int:
    """Describe every command for programs: what it takes, with defaults, and the exit statuses.

    The answer is JSON unless -o text is given; TOKCAP_OUTPUT and config.toml do not change that.
    """
    reply = Reply(context.obj, output or "json")
    commands = all_commands()
    if not FORMS[reply.output].has_envelope:
        return reply.say_table([(one.name, one.summary) for one in commands])
    return reply.give(manifest_of(commands))


def manifest_of(commands: tuple[Command, ...]) -> dict[str, object]:
    """Return the manifest. What `show` and the wrapper have in common is said once."""
    run, show, *others = commands
    of_show = [option for option in show.options if option not in run.options]
    return {
        "schema_version": SCHEMA_VERSION,
        "version": __version__,
        "envelope": "of -o json: ok, data, error, warnings, meta; see man 5 tokcap-json",
        "exit_codes": {"run": run.exit_meanings, "subcommands": show.exit_meanings},
        "values": "N: 500, 4k; DURATION: 90, 1.5m; SIZE: 64KiB; an option that takes a value takes one, once",
        "run": {
            "usage": "tokcap [OPTIONS] [--] COMMAND [ARG]...; tokcap [OPTIONS] -c STRING; or stdin",
            "options": described(run.options),
            "variables": "TOKCAP_TOKEN_LIMIT for --token-limit, and so on; --no-NAME turns a switch off",
        },
        "show": {
            "usage": show.usage,
            "options": described(of_show),
            "also": "the options of run about what is shown, format and budget",
        },
        "subcommands": {usage_of(one): one.summary for one in others},
    }


def described(options: list[Option] | tuple[Option, ...]) -> dict[str, str]:
    """Return what each option does, with its default if that is not clear."""
    return {option.spelled: f"{option.brief}{default_of(option)}" for option in options}


def default_of(option: Option) -> str:
    shown = option.shown_default
    return f" [{shown}]" if option.takes_value and shown and not shown.startswith("none") else ""


def usage_of(command: Command) -> str:
    """Return a subcommand with its arguments and options, without the word `tokcap`."""
    options = [f"[{option.spelled}]" for option in command.options if option != HELP]
    return " ".join([*command.path, *options, *(argument.spelled for argument in command.arguments)])
