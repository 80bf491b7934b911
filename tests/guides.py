"""README.md and docs/*.md as they are run: examples out of a guide, and what a reader would see.

The commands of one guide run one after the other in one shell, in `docs/samples`, in a home of their own.
`python -m tests.test_readme --write` fills in the outputs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT

GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SAMPLES = ROOT / "docs" / "samples"
# The home that stands in the guides.
HOME = "/home/me"

BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
# A command goes on in lines that begin with `> `, as in a shell.
EXAMPLE = re.compile(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)
PYTHON = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
# No command prints it.
BETWEEN = "\x1eend of an example\x1e"


def examples(text: str) -> list[tuple[str, str]]:
    """Every command of a guide, with the output that stands below it."""
    return [
        (command.replace("\n> ", "\n").removesuffix("\n"), output)
        for block in BLOCK.findall(text)
        for command, output in EXAMPLE.findall(block)
    ]


def python_blocks(text: str) -> list[str]:
    return PYTHON.findall(text)


def steady(text: str) -> str:
    """An answer without what the clock puts in."""
    text = re.sub(r'"duration_ms":\s*\d+', '"duration_ms":0', text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b(?!T)( \d\d:\d\d)?", "2026-01-01", text)
    # Ages of what was stored a moment ago.
    return re.sub(r"^([0-9a-f]{12}  )\d+[sm] *", r"\1", text, flags=re.MULTILINE)


def world(home: Path) -> dict[str, str]:
    """The environment of a reader who has just installed this very tokcap."""
    programs = home.parent / "bin"
    programs.mkdir(exist_ok=True)
    for name, module in (("tokcap", "tokcap"), ("tokcap-sh", "tokcap.cli.shell_entry")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOKCAP_", "XDG_"))}
    for name in ("COLUMNS", "NO_COLOR", "CI"):
        kept.pop(name, None)
    return {
        **kept,
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{programs}:{os.environ['PATH']}",
        "TZ": "UTC",
    }


def outputs(guide: Path) -> list[str]:
    """What the commands of a guide really print, both streams as on a terminal."""
    commands = [command for command, _ in examples(guide.read_text())]
    # One shell for all: what one line exports, the next one has.
    script = "".join(f"{command}\nprintf '%s' '{BETWEEN}'\n" for command in commands)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        home.mkdir()
        done = subprocess.run(
            ["bash", "-c", f"exec 2>&1\n{script}"],
            cwd=SAMPLES,
            env=world(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            timeout=240,
            check=False,
        )
        *found, rest = done.stdout.split(BETWEEN)
        assert len(found) == len(commands), rest
        return [output.replace(str(home), HOME) for output in found]


def run_python(code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    home = directory / "python-home"
    home.mkdir()
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=SAMPLES,
        env=world(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def filled(text: str, real_outputs: list[str]) -> str:
    """A guide with real outputs; one that differs only by the clock stays as it is."""
    found = iter(real_outputs)

    def fill_example(example: re.Match[str]) -> str:
        real = next(found)
        # A guide cannot show that the newline at the end is missing.
        real += "\n" * bool(real and not real.endswith("\n"))
        return f"$ {example[1]}{example[2] if steady(example[2]) == steady(real) else real}"

    return BLOCK.sub(lambda block: EXAMPLE.sub(fill_example, block[0]), text)
