"""Run the examples in README.md and docs/*.md, and return what a reader would see.

A section is everything up to the next heading. The commands of one section run in one shell, in
`docs/samples`, with an empty home. So no section depends on another one. The nightly tests run all sections
twice in one home, because readers repeat what they read. `python -m tests.test_readme --write` fills in the
outputs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.program import ROOT
from tests.support.shells import install_programs

GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SAMPLES = ROOT / "docs" / "samples"
# The home directory that the guides show.
HOME = "/home/me"

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ ", re.MULTILINE)
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
# A command continues in lines that begin with `> `, as in a shell.
EXAMPLE = re.compile(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)


PYTHON = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
# No command prints it.
BETWEEN = "\x1eend of an example\x1e"


def examples(text: str) -> list[tuple[str, str]]:
    """Return every command of a text, with the output shown below it."""
    return [
        (command.replace("\n> ", "\n").removesuffix("\n"), output)
        for block in BLOCK.findall(text)
        for command, output in EXAMPLE.findall(block)
    ]


def sections(text: str) -> list[str]:
    """Split a guide before each heading. A comment in a code block is not a heading."""
    prose = FENCED.sub(lambda block: " " * len(block[0]), text)
    starts = [match.start() for match in HEADING.finditer(prose)]
    return [text[start:end] for start, end in zip([0, *starts], [*starts, None], strict=True)]


def python_blocks(text: str) -> list[str]:
    return PYTHON.findall(text)


def steady(text: str) -> str:
    """Return an output without what the clock puts into it."""
    text = re.sub(r'"duration_ms":\s*\d+', '"duration_ms":0', text)
    text = re.sub(r"\b\d{4}-\d\d-\d\d\b(?!T)( \d\d:\d\d)?", "2026-01-01", text)
    # Ages of stored outputs.
    return re.sub(r"^([a-z]{4}\d{9}  )\d+[sm] *", r"\1", text, flags=re.MULTILINE)


def world(home: Path) -> dict[str, str]:
    """Return the environment of a reader who has just installed this tokcap."""
    programs = install_programs(home.parent / "bin")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOKCAP_", "XDG_"))}
    for name in ("COLUMNS", "NO_COLOR", "CI"):
        kept.pop(name, None)
    return {
        **kept,
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{programs}:{os.environ['PATH']}",
        "TMPDIR": str(home.parent),
        "TZ": "UTC",
    }


def outputs(guide: Path) -> list[str]:
    """Return what the commands of a guide print, both streams as on a terminal."""
    return [output for section in sections(guide.read_text()) for output in section_outputs(section)]


def section_outputs(section: str) -> list[str]:
    """Run the commands of a section in an empty home, and return what each of them prints."""
    commands = [command for command, _ in examples(section)]
    if not commands:
        return []
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "home"
        home.mkdir()
        return printed_by(commands, home)


def printed_by(commands: list[str], home: Path) -> list[str]:
    # One shell for all: a variable that one line exports is there for the next.
    script = "".join(f"{command}\nprintf '%s' '{BETWEEN}'\n" for command in commands)
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


def changed_outputs(part: str, home: Path) -> list[str]:
    """Run a part of a guide in a home that others use too. Return what prints something else."""
    shown = examples(part)
    changed = []
    if shown:
        for (command, output), real in zip(shown, printed_by([one for one, _ in shown], home), strict=True):
            ended = real + "\n" * bool(real and not real.endswith("\n"))
            if steady(ended) != steady(output):
                changed.append(f"$ {command}\n{real}")
    return changed


def run_python(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    home.mkdir(exist_ok=True)
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
    """Return a guide with real outputs. An output that differs only by the clock stays as it is."""
    found = iter(real_outputs)

    def fill_example(example: re.Match[str]) -> str:
        real = next(found)
        # A guide cannot show that the newline at the end is missing.
        real += "\n" * bool(real and not real.endswith("\n"))
        return f"$ {example[1]}{example[2] if steady(example[2]) == steady(real) else real}"

    return BLOCK.sub(lambda block: EXAMPLE.sub(fill_example, block[0]), text)
