"""Everything that is measured: calls of tokcap that run a replay, and the rules of others.

tokcap is called as a library, because a call takes a third of the time of a new process. The bytes are
those of the command line, which a test compares.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tokcap
from benchmarks.useful import replay
from benchmarks.useful.agents import AGENTS, within
from tokcap.keep import KEEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.useful.outputs import Output

# The one that the others are compared with, output by output.
REFERENCE = "ends"


@dataclass(frozen=True)
class Shown:
    """What a reader gets: both streams, and the exit status of the call."""

    out: bytes
    err: bytes = b""
    status: int = 0

    @property
    def together(self) -> bytes:
        return self.out + self.err


@dataclass(frozen=True)
class Policy:
    name: str
    label: str
    show: Callable[[Output, int], Shown]
    # What standard output has to be a valid part of: `json`, `jsonl`, `csv`, or an empty text for anything.
    structure: Callable[[Output], str] = lambda _: ""


@dataclass(frozen=True)
class Replays:
    """Calls of tokcap whose commands are replays. `place` is a directory for their files."""

    place: Path
    merge: bool = False

    def command(self, output: Output) -> list[str]:
        path = self.place / output.id
        path.write_bytes(replay.pieces_file(output.pieces))
        # Without `site`, which a replay does not need.
        return [sys.executable, "-I", "-S", replay.__file__, str(path), str(output.exit)]

    def call(self, output: Output, limit: int, **options: str) -> Shown:
        """Return what tokcap shows of an output."""
        stderr = "merge" if self.merge else "separate"
        result = tokcap.run(self.command(output), limit=limit, stderr=stderr, **options)
        return Shown(result.data, result.stderr.encode() + result.words, result.status)

    def keeping(self, name: str) -> Policy:
        return Policy(
            name,
            f"tokcap `--keep {name}`",
            lambda output, limit: self.call(output, limit, keep=name),
            lambda output: output.structure_of(merged=self.merge),
        )

    def summary(self) -> Policy:
        return Policy(
            "summary",
            "tokcap `--mode summary`",
            lambda output, limit: self.call(output, limit, mode="summary"),
        )


def rule_of(name: str) -> Policy:
    """Return the policy of an agent or of a plain program."""
    label, rule = AGENTS[name]
    return Policy(name, label, lambda output, limit: Shown(rule(output, limit), status=output.exit))


def program(template: str) -> Policy:
    """Return the policy of a program that reads an output and writes what it shows; `{tokens}` is its limit.

    What counts is a recount: if it writes more, it is asked for fewer tokens until that many fit.
    """

    def shown(output: Output, tokens: int) -> bytes:
        command = ["sh", "-c", template.replace("{tokens}", str(tokens))]
        return subprocess.run(command, input=output.merged, stdout=subprocess.PIPE, check=False).stdout

    def show(output: Output, limit: int) -> Shown:
        return Shown(within(limit, lambda tokens: shown(output, tokens)), status=output.exit)

    return Policy(template, f"`{template}`", show)


def all_policies(replays: Replays, programs: Sequence[str] = ()) -> dict[str, Policy]:
    own = [*(replays.keeping(name) for name in KEEPS), replays.summary()]
    found = [*own, *map(rule_of, AGENTS), *map(program, programs)]
    return {policy.name: policy for policy in found}
