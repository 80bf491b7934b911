"""A Typer application with three nested groups and twenty commands, and more commands for special cases."""

import csv
import json
import os
import subprocess
import sys

import typer

from tokcap import enable_token_budget

LINES = [f"line {number} of the report on tokens" for number in range(400)]
ROWS = [{"id": number, "name": f"item {number}", "tags": ["a", "b"]} for number in range(120)]

app = typer.Typer(help="Twenty commands.")
store = typer.Typer(help="The first group.")
shelf = typer.Typer(help="The second, inside it.")
box = typer.Typer(help="The third, inside both.", invoke_without_command=True)

# Called before the commands are registered, which must make no difference.
enable_token_budget(app)


@app.callback()
def program(banner: bool = False) -> None:
    if banner:
        print("BANNER")


@box.callback()
def box_callback(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print("\n".join(LINES))


def printing() -> None:
    print("\n".join(LINES))


def echoing() -> None:
    for line in LINES:
        typer.echo(line)


def bytes_of_the_buffer() -> None:
    sys.stdout.buffer.write("\n".join(LINES).encode() + b"\n")


def text_of_the_stream() -> None:
    sys.stdout.write("\n".join(LINES))


def json_printed() -> None:
    print(json.dumps(ROWS, indent=2))


def json_lines() -> None:
    for row in ROWS:
        print(json.dumps(row))


def table() -> None:
    writer = csv.writer(sys.stdout)
    writer.writerows([("id", "name"), *((row["id"], row["name"]) for row in ROWS)])


def list_returned() -> list[dict]:
    return ROWS


def text_returned() -> str:
    return "\n".join(LINES)


def one_long_line(size: int = 3000) -> None:
    print("token " * size)


COMMANDS = [
    printing, echoing, bytes_of_the_buffer, text_of_the_stream, json_printed, json_lines, table,
    list_returned, text_returned, one_long_line,
]  # fmt: skip
PATHS = []
for group, path in (
    (app, []),
    (store, ["store"]),
    (shelf, ["store", "shelf"]),
    (box, ["store", "shelf", "box"]),
):
    for command in COMMANDS[len(PATHS) % 10 :][:5]:
        group.command()(command)
        PATHS.append([*path, command.__name__.replace("_", "-")])

shelf.add_typer(box, name="box")
store.add_typer(shelf, name="shelf")
app.add_typer(store, name="store")

# Further commands: the ways in which commands end and write output.
ends = typer.Typer(hidden=True)
app.add_typer(ends, name="ends")


@ends.command()
def exit_three() -> None:
    print("before")
    raise typer.Exit(3)


@ends.command()
def sys_exit(how: str) -> None:
    sys.exit({"none": None, "four": 4, "words": "out of words"}[how])


@ends.command()
def abort() -> None:
    raise typer.Abort


@ends.command()
def bad_parameter() -> None:
    raise typer.BadParameter("not this one")


@ends.command()
def raising() -> None:
    print("before")
    raise ValueError("no such item")


@ends.command()
def closes_its_stream() -> None:
    print("before")
    sys.stdout.close()


@ends.command()
def interrupted() -> None:
    print("before")
    raise KeyboardInterrupt


@ends.command()
def child() -> None:
    print("one", flush=True)
    subprocess.run(["echo", "two"], check=True)
    os.write(1, b"three\n")
    print("four", file=sys.stderr)


@ends.command()
def binary() -> None:
    sys.stdout.buffer.write(b"\xff\xfe\n" * 50)


def refusing(value: str) -> str:
    if value == "crash":
        raise ValueError("no such value")
    if value == "exit":
        raise typer.Exit(5)
    return value


@ends.command()
def checking(value: str = typer.Option("fine", callback=refusing)) -> None:
    print(value)


@ends.command()
def stream(values: list[str]) -> None:
    print(type(sys.stdout).__name__)


@ends.command()
def is_terminal() -> None:
    print(sys.stdout.isatty())


@ends.command()
def words(values: list[str]) -> None:
    print(*values, sep="\n")


@ends.command()
def closing(context: typer.Context) -> None:
    context.find_root().call_on_close(lambda: print("closed"))


@ends.command()
def number() -> int:
    return 7


@ends.command()
async def awaitable() -> None:
    print("never")


if __name__ == "__main__":
    app()
