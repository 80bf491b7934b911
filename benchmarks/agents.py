"""`python -m benchmarks.agents`: what the models of real agents receive, without tokcap and with it.

Prints the table of docs/comparison.md, in `cl100k_base` tokens. `.ci/agents` installs the agents, and
`TOKCAP_AGENTS_DIR` names their directory. Give names to run only those, and `--write` to update the document.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import tokcap
from tests.support.agents import box
from tests.support.agents.outputs import ERROR_LINE, OUTPUTS, json_in
from tests.support.agents.programs import BY_NAME, PROGRAMS
from tokcap.hooks import AGENTS

DOCUMENT = Path(__file__).parents[1] / "docs" / "comparison.md"
# The words of agents for an exit status.
STATUS = r"(?i)(?:exit\w*(?: with)? (?:code|status):?|\"exit_code\":|\"returncode\":) ?{}\b"
INSTALL = ()
MARKS = "<!-- agents -->\n", "<!-- end of agents -->"


def cell(name: str, text: str) -> str:
    """Return the tokens of one result, and what is lost in it."""
    lost = []
    command, status = OUTPUTS[name]
    if "oops" in command and "oops" not in text:
        lost.append("stderr lost")
    if status and not re.search(STATUS.format(status), text):
        lost.append("status lost")
    if "build" in command and ERROR_LINE not in text:
        lost.append("error lost")
    if "json" in command:
        try:
            json_in(text)
        except ValueError:
            lost.append("broken")
    return ", ".join([f"{tokcap.count(text):,}", *lost])


def row(name: str) -> str:
    """Run one agent twice and return a row."""
    cells = [f"{AGENTS[name].title} {BY_NAME[name].version}"]
    commands = [command for command, _ in OUTPUTS.values()]
    with tempfile.TemporaryDirectory() as directory:
        before = box.run(name, commands, Path(directory) / "before", None).results
        after = box.run(name, commands, Path(directory) / "after", INSTALL).results
    for output, *texts in zip(OUTPUTS, before, after, strict=False):
        cells.append(" → ".join(cell(output, text) for text in texts))
    return f"| {' | '.join(cells)} |"


def main(words: list[str]) -> None:
    names = [word for word in words if word in BY_NAME] or [program.name for program in PROGRAMS]
    head = ["agent", *OUTPUTS]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in names:
        reason = box.reason_to_skip(name)
        lines.append(f"| {name} | {reason} |" if reason else row(name))
        print(lines[-1], file=sys.stderr, flush=True)
    table = "\n".join(lines) + "\n"
    print(table)
    if "--write" in words:
        before, rest = DOCUMENT.read_text().split(MARKS[0])
        DOCUMENT.write_text(before + MARKS[0] + table + MARKS[1] + rest.partition(MARKS[1])[2])


if __name__ == "__main__":
    main(sys.argv[1:])
