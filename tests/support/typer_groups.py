"""A Typer application with three nested groups, a command for each way to write output, and special cases."""

import csv
import json
import os
import subprocess
import sys

import typer

from tokcap import enable_token_budget

LINES = [f"line {number} of the report on tokens" for number in range(400)]
ROWS = [{"id": number, "name": f"item {number}", "tags": ["a", "b"]} for number in range(120)]

app = typer.Typer(help="Commands of all kinds.")
store = typer.Typer(help="The first group.")
shelf = typer.Typer(help="The second, inside it.")
box = typer.Typer(help="The third, inside both.")

# Called before the commands are registered, which must make no difference.
enable_token_budget(app)


@app.callback()
def program(banner: bool = False) -> None:
    if banner:
        print("BANNER")


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


COMMANDS = {
    "printing": (app, printing),
    "echoing": (app, echoing),
    "bytes-of-the-buffer": (app, bytes_of_the_buffer),
    "json-printed": (app, json_printed),
    "store text-of-the-stream": (store, text_of_the_stream),
    "store json-lines": (store, json_lines),
    "store one-long-line": (store, one_long_line),
    "store shelf table": (shelf, table),
    "store shelf text-returned": (shelf, text_returned),
    "store shelf box list-returned": (box, list_returned),
}
for group, command in COMMANDS.values():
    group.command()(command)

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


@ends.command()
def words(values: list[str]) -> None:
    print(*values, sep="\n")


if __name__ == "__main__":
    app()
