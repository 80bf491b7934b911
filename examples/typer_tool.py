"""A Typer tool that inspects a directory. One line at its end adds a token budget to every command.

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

app = typer.Typer(help="Inspect a directory.", no_args_is_help=True)
files = typer.Typer(help="List files.")
text = typer.Typer(help="Read files.")
app.add_typer(files, name="files")
app.add_typer(text, name="text")

Directory = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="directory to inspect")]


def regular_files(directory: Path) -> Iterator[Path]:
    yield from sorted(path for path in directory.rglob("*") if path.is_file())


@files.command("list")
def list_files(directory: Directory) -> None:
    """Print all files as a table. Every window of it repeats the header."""
    table = csv.writer(sys.stdout)
    table.writerow(["path", "bytes"])
    for path in regular_files(directory):
        table.writerow([path.relative_to(directory), path.stat().st_size])


@files.command()
def kinds(directory: Directory) -> dict[str, int]:
    """Count the files by suffix. The returned value is printed as JSON if one of the flags is used."""
    return dict(Counter(path.suffix or "none" for path in regular_files(directory)).most_common())


@text.command()
def find(word: str, directory: Directory) -> None:
    """Print the lines that contain a word. Exit with status 1 if there are none."""
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
    """Print a file unchanged."""
    sys.stdout.buffer.write(path.read_bytes())


enable_token_budget(app)

if __name__ == "__main__":
    app()
