"""`python -m benchmarks.agents`: what the models of real agents receive, without tokcap and with it.

Prints both tables of docs/agents.md, in `cl100k_base` tokens. `.ci/agents` installs the agents, and
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

LIMIT = 1000
DOCUMENT = Path(__file__).parents[1] / "docs" / "agents.md"
# The words of agents for an exit status.
STATUS = r"(?i)(?:exit\w*(?: with)? (?:code|status):?|\"exit_code\":|\"returncode\":) ?{}\b"
TABLES = {"without tokcap": None, "with tokcap": ("--token-limit", str(LIMIT))}


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


def row(name: str, install: tuple[str, ...] | None) -> str:
    """Run one agent and return a row."""
    with tempfile.TemporaryDirectory() as directory:
        ran = box.run(name, [command for command, _ in OUTPUTS.values()], Path(directory) / "home", install)
    cells = [cell(*pair) for pair in zip(OUTPUTS, ran.results, strict=False)]
    cells += ["–"] * (len(OUTPUTS) - len(cells))
    return f"| {AGENTS[name].title} {BY_NAME[name].version} | {' | '.join(cells)} |"


def main(words: list[str]) -> None:
    names = [word for word in words if word in BY_NAME] or [program.name for program in PROGRAMS]
    text = DOCUMENT.read_text()
    for title, install in TABLES.items():
        head = ["agent", *OUTPUTS]
        lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for name in names:
            reason = box.reason_to_skip(name)
            lines.append(f"| {name} | {reason} |" if reason else row(name, install))
            print(lines[-1], file=sys.stderr, flush=True)
        table = "\n".join(lines)
        print(f"{title}\n\n{table}\n")
        start, end = f"<!-- {title} -->\n", f"<!-- end of {title} -->"
        text = re.sub(
            f"{start}.*?{end}", lambda _, new=start + table + "\n" + end: new, text, flags=re.DOTALL
        )
    if "--write" in words:
        DOCUMENT.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
