"""`python -m benchmarks [ROUNDS]`: what one call costs, as ratios to starting Python.

All commands are run in turn, round after round, so that a busy machine slows all of them alike; what is
printed are medians of the ratios within each round, and their spread.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tokcap.data.compile import published_table
from tokcap.tokens import vocabulary

PYTHON = sys.executable

# A peer as it is usually written: parse the published table, build tiktoken's encoding, count.
PEER = """
import sys, tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokcap.tokens.bpe import PRE_SPLIT
name, table = sys.argv[1:]
encoding = tiktoken.Encoding(
    name, pat_str=PRE_SPLIT[name], mergeable_ranks=load_tiktoken_bpe(table), special_tokens={}
)
print(len(encoding.encode_ordinary(sys.stdin.read())))
"""


# The floor of a JSON window: all of it has to be read and found valid.
VALIDATE = "import orjson, sys; orjson.loads(sys.stdin.buffer.read())"


def commands(place: Path) -> dict[str, tuple[list[str], Path | None]]:
    """Name of the row -> command and standard input."""
    small, large = place / "35KB.txt", place / "5MB.txt"
    rows: dict[str, tuple[list[str], Path | None]] = {
        "python -c pass": ([PYTHON, "-c", "pass"], None),
        "cat, 35 KB": (["cat"], small),
        "cat, 5 MB": (["cat"], large),
        "tokcap -- true": ([PYTHON, "-m", "tokcap", "--", "true"], None),
        "read and validate, 20 MB JSON": ([PYTHON, "-c", VALIDATE], place / "20MB.json"),
        "tokcap -n 500, 20 MB JSON": ([PYTHON, "-m", "tokcap", "-n", "500"], place / "20MB.json"),
        "tokcap -n 50, 3 bytes": ([PYTHON, "-m", "tokcap", "-n", "50"], place / "3B.txt"),
        "the same in a session": (
            [PYTHON, "-m", "tokcap", "--session", "bench", "-n", "50"],
            place / "3B.txt",
        ),
    }
    for name in vocabulary.EMBEDDED:
        tokcap = [PYTHON, "-m", "tokcap", "--tokenizer", name]
        rows[f"tokcap -n 500, 35 KB, {name}"] = ([*tokcap, "-n", "500"], small)
        in_session = [*tokcap, "--session", "bench"]
        rows[f"the same in a session, {name}"] = ([*in_session, "-n", "500"], small)
        rows[f"tokcap --token-count, 35 KB, {name}"] = ([*tokcap, "--token-count"], small)
        rows[f"tokcap -n 500, 5 MB, {name}"] = ([*tokcap, "-n", "500"], large)
        table = str(place / f"{name}.tiktoken")
        rows[f"plain tiktoken, 35 KB, {name}"] = ([PYTHON, "-c", PEER, name, table], small)
        rows[f"plain tiktoken, 5 MB, {name}"] = ([PYTHON, "-c", PEER, name, table], large)
    return rows


def prepare(place: Path) -> None:
    """Texts made of this interpreter's own library, and the tables that the peer reads."""
    sources = sorted(Path(os.__file__).parent.glob("*.py"))
    text = b"".join(source.read_bytes() for source in sources)
    while len(text) < 5_000_000:
        text += text
    os.environ["TOKCAP_DATA_DIR"] = str(place / "data")
    subprocess.run(
        [PYTHON, "-m", "tokcap", "budget", "start", "bench"], stdout=subprocess.DEVNULL, check=True
    )
    (place / "3B.txt").write_bytes(b"hi\n")
    (place / "35KB.txt").write_bytes(text[:35_000])
    (place / "5MB.txt").write_bytes(text[:5_000_000])
    records = b",".join(
        b'{"id": %d, "name": "user number %d", "tags": ["a", "b"], "score": %d.50}' % (n, n, n)
        for n in range(300_000)
    )
    (place / "20MB.json").write_bytes(b'{"rows": [' + records + b"]}")
    for name in vocabulary.EMBEDDED:
        (place / f"{name}.tiktoken").write_bytes(published_table(vocabulary.load(name)))


def seconds(command: list[str], stdin: Path | None) -> float:
    with open(stdin or os.devnull, "rb") as given:
        started = time.perf_counter()
        subprocess.run(command, stdin=given, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - started


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        prepare(place)
        rows = commands(place)
        times: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(rounds):
            for name, (command, stdin) in rows.items():
                times[name].append(seconds(command, stdin))
    floor = times["python -c pass"]
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load}, {rounds} rounds")
    print(f"{'':46} {'median':>9}  × python   quartiles")
    for name, values in times.items():
        ratios = [value / base for value, base in zip(values, floor, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{name:46} {statistics.median(values) * 1000:6.1f} ms {middle:9.2f}   {low:.2f} – {high:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
