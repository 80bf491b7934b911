"""What is measured, and the targets: the only list of both."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.inputs import SIZES
from benchmarks.measure import Work

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.environments import Environments

FLOOR = "python -c pass"
MODELS = {"cl100k_base": "gpt-4", "o200k_base": "gpt-4o"}

READ = "import os\nwhile os.read(0, 1 << 20): pass"

# The time of one call of the library, after loading its vocabulary and reading the text.
ONE_CALL = """
import sys, time, tiktoken
encoding = tiktoken.get_encoding(sys.argv[1])
text = sys.stdin.buffer.read().decode("utf-8", "replace")
started = time.perf_counter()
encoding.encode_ordinary(text)
print(time.perf_counter() - started)
"""

# The same as a complete program.
PLAIN_TIKTOKEN = """
import sys, tiktoken
text = sys.stdin.buffer.read().decode("utf-8", "replace")
print(len(tiktoken.get_encoding(sys.argv[1]).encode_ordinary(text)))
"""


@dataclass(frozen=True)
class Line:
    """A target: `work` takes at most `at_most` times as long as `reference`, plus an allowance."""

    work: str
    reference: str = FLOOR
    at_most: float | None = None
    plus_seconds: float = 0.0
    # Work whose time beyond the floor is allowed in addition.
    plus_work: str = ""

    @property
    def target(self) -> str:
        if self.at_most is None:
            return ""
        factor = f"1/{round(1 / self.at_most)}" if self.at_most < 0.5 else f"{self.at_most:g}"
        more = f" + {self.plus_seconds * 1000:g} ms" if self.plus_seconds else ""
        return f"{factor} × {self.reference}{more}{' + reading it' if self.plus_work else ''}"

    def reached(self, medians: dict[str, float]) -> bool | None:
        if self.at_most is None:
            return None
        granted = medians[self.reference] * self.at_most + self.plus_seconds
        if self.plus_work:
            granted += max(medians[self.plus_work] - medians[FLOOR], 0)
        return medians[self.work] <= granted


def works_of(programs: Environments, inputs: dict[str, Path], place: Path) -> tuple[list[Work], list[Line]]:
    """Return all work in the order of a round, and the lines of the table."""
    data, store = place / "data", place / "data" / "spill"
    own = (("TOKCAP_DATA_DIR", str(data)),)
    small, middle, hundred = inputs["35 KB"], inputs["5 MB"], inputs["100 MB"]

    def tokcap(name: str, *words: str, stdin: Path | None = None, slow: bool = False) -> Work:
        return Work(name, (programs.tokcap, *words), stdin, variables=own, slow=slow, store=store)

    works = [
        Work(FLOOR, (programs.python, "-c", "pass")),
        Work("cat, 35 KB", ("cat",), small),
        Work("head -c 2000, 35 KB", ("head", "-c", "2000"), small),
        Work("wc -w, 35 KB", ("wc", "-w"), small),
        Work("cat, 5 MB", ("cat",), middle),
        Work("wc -w, 5 MB", ("wc", "-w"), middle),
        Work("reading 5 MB", (programs.python, "-c", READ), middle),
        tokcap("tokcap -n 50, 3 bytes", "-n", "50", stdin=three_bytes(place)),
        tokcap("tokcap -- true", "--", "true"),
        tokcap("tokcap -n 500, 5 MB", "-n", "500", stdin=middle),
        tokcap("tokcap -n 500 -o json, 35 KB JSON", "-n", "500", "-o", "json", stdin=inputs["JSON"]),
        tokcap(
            "tokcap --token-count -o json, 35 KB JSON", "--token-count", "-o", "json", stdin=inputs["JSON"]
        ),
    ]
    lines = [
        *(Line(work.name) for work in works[1:8]),
        Line("tokcap -- true", at_most=1.9),
        Line("tokcap -n 500, 5 MB", at_most=2.5, plus_work="reading 5 MB"),
        Line("tokcap -n 500 -o json, 35 KB JSON", at_most=4),
        Line("tokcap --token-count -o json, 35 KB JSON", at_most=4),
    ]
    for encoding, peer_part in (("cl100k_base", 1 / 7), ("o200k_base", 1 / 12)):
        named = ("--tokenizer", encoding)
        window = tokcap(f"tokcap -n 500, 35 KB, {encoding}", *named, "-n", "500", stdin=small)
        count = tokcap(f"tokcap --token-count, 35 KB, {encoding}", *named, "--token-count", stdin=small)
        peer = Work(
            f"ttok -t 500, 35 KB, {encoding}", (programs.ttok, "-t", "500", "-m", MODELS[encoding]), small
        )
        all_of_it = tokcap(
            f"tokcap --token-count, 100 MB, {encoding}", *named, "--token-count", stdin=hundred, slow=True
        )
        one_call = Work(
            f"one encode_ordinary, 100 MB, {encoding}",
            (programs.ttok_python, "-c", ONE_CALL, encoding),
            hundred,
            slow=True,
            times_itself=True,
        )
        works += [window, count, peer, one_call, all_of_it]
        lines += [
            Line(window.name, at_most=2.4),
            Line(window.name, peer.name, at_most=peer_part),
            Line(count.name, at_most=3),
            Line(all_of_it.name, one_call.name, at_most=0.5),
        ]
    works += deep_windows(programs, hundred, place / "deep")
    lines.append(Line("the last window of stored 100 MB", "the first window of stored 100 MB", at_most=2))
    if "1 GB" in inputs:
        copy = Work("cat > file, 1 GB", ("cat",), inputs["1 GB"], stdout=place / "copy", slow=True)
        window = tokcap("tokcap -n 500, 1 GB", "-n", "500", stdin=inputs["1 GB"], slow=True)
        works += [copy, window]
        lines.append(Line(window.name, copy.name, at_most=1.5, plus_seconds=0.03))
    return works, lines


def three_bytes(place: Path) -> Path:
    (place / "3B.txt").write_bytes(b"hi\n")
    return place / "3B.txt"


def deep_windows(programs: Environments, text: Path, data: Path) -> list[Work]:
    """Return two windows of one stored output, whose total was counted when it was stored."""
    variables = {**programs.variables(data), "TOKCAP_DATA_DIR": str(data)}
    with open(text, "rb") as given:
        command = [programs.tokcap, "--spill", "always", "--token-count"]
        total = int(
            subprocess.run(command, stdin=given, capture_output=True, env=variables, check=True).stdout
        )
    show = (programs.tokcap, "show", "@last", "-n", "500", "--token-offset")
    own = (("TOKCAP_DATA_DIR", str(data)),)
    return [
        Work("the first window of stored 100 MB", (*show, "0"), variables=own),
        Work("the last window of stored 100 MB", (*show, str(total - 400)), variables=own),
    ]


def sizes_of(programs: Environments, inputs: dict[str, Path], place: Path) -> dict[str, dict[int, Work]]:
    """Return the work for the plot of cost against size, by series and size."""
    own, store = (("TOKCAP_DATA_DIR", str(place / "data")),), place / "data" / "spill"
    commands = {
        "cat": (("cat",), 10**9),
        "tokcap -n 500": ((programs.tokcap, "-n", "500"), 10**9),
        "tokcap --token-count": ((programs.tokcap, "--token-count"), 10**8),
        "tiktoken, counting": ((programs.ttok_python, "-c", PLAIN_TIKTOKEN, "cl100k_base"), 10**8),
        "ttok -t 500": ((programs.ttok, "-t", "500", "-m", "gpt-4"), 10**7),
    }
    return {
        drawn: {
            size: Work(
                f"{drawn}, {label}", command, inputs[label], variables=own, slow=size >= 10**7, store=store
            )
            for label, size in SIZES.items()
            if label in inputs and size <= largest
        }
        for drawn, (command, largest) in commands.items()
    }
