"""An agent loop that cannot overrun: each tool result fits the context, and all of them fit a budget.

python examples/agent_loop.py

The model is a script, so that every run prints the same. It does what models do: it runs a build, looks for
the error in what was left out, reads on from there, and does not know when to stop. The loop does.
"""

from __future__ import annotations

import os
import tempfile
import textwrap
from collections.abc import Generator
from dataclasses import dataclass

from tokcap import BudgetExhausted, Capped, Result, ToolBudget, count, open_session, run, show

SESSION = "agent-loop"
TOTAL_TOKENS = 1500
CONTEXT_TOKENS = 900
FLOOR_TOKENS = 120
TASK = "Find out why the build fails."

BUILD = """
for n in $(seq 1 400); do
    echo "[$n/400] compiling module_$n.c"
    if [ "$n" = 287 ]; then echo "module_287.c:12: error: 'limit' undeclared"; fi
done
echo 'build: 1 error' >&2
exit 2
"""


@dataclass(frozen=True)
class Run:
    """The model wants a command to be run."""

    words: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Show:
    """The model wants to see more of an output that was cut."""

    words: str
    handle: str
    offset: int = 0
    grep: str = ""


Answer = Result | Capped[str]
Model = Generator[Run | Show, Answer, None]


def scripted_model() -> Model:
    """Asks for one tool call at a time, and decides by what came back."""
    build = yield Run("build it", ("sh", "-c", BUILD))
    assert build.handle, "a build that long is cut, and what was cut is stored"
    found = yield Show("look for the error in all of it", build.handle, grep="error:")
    line, token, message = text_of(found).splitlines()[0].split(":", 2)
    page = yield Show(f"read on from line {line}: {message}", build.handle, offset=int(token))
    while page.next_offset is not None:
        page = yield Show("and the next page", build.handle, offset=page.next_offset)


class Context:
    """What the model reads on its next turn."""

    def __init__(self, task: str) -> None:
        self.messages = [task]

    @property
    def used(self) -> int:
        return sum(count(message) for message in self.messages)

    def compact(self) -> None:
        """Keep the task and a line of each message; a real loop would ask the model for a summary."""
        task, *results = self.messages
        first_lines = [result.partition("\n")[0] for result in results]
        self.messages = [task, "\n".join(["so far:", *first_lines])]


def main() -> None:
    context = Context(TASK)
    print(f"task: {TASK}\n")
    with open_session(SESSION, total=TOTAL_TOKENS) as budget:
        try:
            loop(scripted_model(), context)
            print("the model is done")
        except BudgetExhausted as error:
            print(f"stop: {error}")
        print(f"left of {TOTAL_TOKENS} tokens: {budget.remaining}")


def loop(model: Model, context: Context) -> None:
    """Perform what the model asks for, until it asks for nothing more."""
    wanted = next(model)
    while True:
        room = ToolBudget(CONTEXT_TOKENS, context.used, floor_tokens=FLOOR_TOKENS)
        if room.compact_first:
            before = context.used
            context.compact()
            print(f"compact: the context had {before} tokens, and has {context.used}\n")
            room = ToolBudget(CONTEXT_TOKENS, context.used, floor_tokens=FLOOR_TOKENS)
        print(f"model: {wanted.words}  ({room.allowance} tokens for the answer)")
        answer = performed(wanted, room.allowance)
        text = text_of(answer)
        context.messages.append(text)
        print(textwrap.indent(shortened(text), "    "), end="\n\n")
        try:
            wanted = model.send(answer)
        except StopIteration:
            return


def performed(wanted: Run | Show, limit: int) -> Answer:
    """One tool call. Whatever it shows is charged to the session; an exhausted one runs nothing."""
    if isinstance(wanted, Run):
        return run(wanted.argv, limit=limit, session=SESSION)
    return show(wanted.handle, limit=limit, offset=wanted.offset, grep=wanted.grep, session=SESSION)


def text_of(answer: Answer) -> str:
    return answer.stdout + answer.stderr if isinstance(answer, Result) else answer.text


def shortened(text: str) -> str:
    """The ends of a message, for the transcript only: the model reads all of it."""
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= 5 else [*lines[:2], f"... {len(lines) - 4} lines", *lines[-2:]])


if __name__ == "__main__":
    # A store and an account of its own, so that nothing is left behind.
    with tempfile.TemporaryDirectory() as directory:
        os.environ["TOKCAP_DATA_DIR"] = directory
        main()
