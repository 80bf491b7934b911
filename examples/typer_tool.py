"""A tool that looks at a directory, with a token budget on every command: one line at the end adds it.

python examples/typer_tool.py files list . --token-limit 300
python examples/typer_tool.py text find TODO . --output json --token-limit 500
python examples/typer_tool.py files list . --token-count
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tokcap import enable_token_budget

app = typer.Typer(help="Look at a directory.", no_args_is_help=True)
files = typer.Typer(help="What is there.")
text = typer.Typer(help="What is in it.")
app.add_typer(files, name="files")
app.add_typer(text, name="text")

Directory = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="where to look")]


def regular_files(directory: Path) -> Iterator[Path]:
    yield from sorted(path for path in directory.rglob("*") if path.is_file())


@files.command("list")
def list_files(directory: Directory) -> None:
    """A table of all files: a window of it repeats the header."""
    table = csv.writer(sys.stdout)
    table.writerow(["path", "bytes"])
    for path in regular_files(directory):
        table.writerow([path.relative_to(directory), path.stat().st_size])


@files.command()
def kinds(directory: Directory) -> dict[str, int]:
    """Files of each suffix. It returns its result: with a flag, that comes out as JSON."""
    return dict(Counter(path.suffix or "none" for path in regular_files(directory)).most_common())


@text.command()
def find(word: str, directory: Directory) -> None:
    """Lines that hold a word; status 1 if there are none."""
    hits = 0
    for path in regular_files(directory):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if word in line:
                hits += 1
                print(f"{path.relative_to(directory)}:{number}: {line.strip()}")
    if not hits:
        raise typer.Exit(1)


@text.command()
def show(path: Path) -> None:
    """A file as it is."""
    sys.stdout.buffer.write(path.read_bytes())


enable_token_budget(app)

if __name__ == "__main__":
    app()
