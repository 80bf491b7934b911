"""An agent loop with hard limits: each tool result fits the context, and all results fit a budget.

python examples/agent_loop.py

The model is a script, so every run prints the same. It runs a build, searches the full output for the error,
reads on from there, and would never stop. The loop stops it when the budget is exhausted.
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
    """The model asks to run a command."""

    words: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Show:
    """The model asks to see more of an output that was cut."""

    words: str
    handle: str
    offset: int = 0
    grep: str = ""


ToolResult = Result | Capped[str]
Model = Generator[Run | Show, ToolResult, None]


def scripted_model() -> Model:
    """Request one tool call at a time, and decide by its result what to do next."""
    build = yield Run("run the build", ("sh", "-c", BUILD))
    assert build.handle, "the output of the build is too long, so it is cut and stored"
    found = yield Show("search the whole output for the error", build.handle, grep="error:")
    line, token, message = text_of(found).splitlines()[0].split(":", 2)
    page = yield Show(f"read on from line {line}: {message}", build.handle, offset=int(token))
    # An offset counts in the view of its page. This loop has no session that could change the mode.
    while page.next_offset is not None:
        page = yield Show("show the next page", build.handle, offset=page.next_offset)


class Context:
    """The messages that the model reads on its next turn."""

    def __init__(self, task: str) -> None:
        self.messages = [task]

    @property
    def used(self) -> int:
        return sum(count(message) for message in self.messages)

    def compact(self) -> None:
        """Keep the task and the first line of each message. A real loop would ask the model for a summary."""
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
    """Execute the tool calls of the model until it requests no more."""
    tool_call = next(model)
    while True:
        room = ToolBudget(CONTEXT_TOKENS, context.used, floor_tokens=FLOOR_TOKENS)
        if room.compact_first:
            before = context.used
            context.compact()
            print(f"compact: {before} tokens in the context before, {context.used} after\n")
            room = ToolBudget(CONTEXT_TOKENS, context.used, floor_tokens=FLOOR_TOKENS)
        print(f"model: {tool_call.words}  ({room.allowance} tokens for the result)")
        result = execute(tool_call, room.allowance)
        text = text_of(result)
        context.messages.append(text)
        print(textwrap.indent(shortened(text), "    "), end="\n\n")
        try:
            tool_call = model.send(result)
        except StopIteration:
            return


def execute(tool_call: Run | Show, limit: int) -> ToolResult:
    """Execute one tool call and charge the session. If the session is exhausted, nothing runs."""
    if isinstance(tool_call, Run):
        return run(tool_call.argv, limit=limit, session=SESSION)
    return show(tool_call.handle, limit=limit, offset=tool_call.offset, grep=tool_call.grep, session=SESSION)


def text_of(result: ToolResult) -> str:
    return result.stdout + result.stderr if isinstance(result, Result) else result.text


def shortened(text: str) -> str:
    """Return the first and last lines of a message for the transcript. The model reads all of it."""
    lines = text.splitlines()
    return "\n".join(lines if len(lines) <= 5 else [*lines[:2], f"... {len(lines) - 4} lines", *lines[-2:]])


if __name__ == "__main__":
    # Use a temporary data directory, so that the example leaves no files behind.
    with tempfile.TemporaryDirectory() as directory:
        os.environ["TOKCAP_DATA_DIR"] = directory
        main()
