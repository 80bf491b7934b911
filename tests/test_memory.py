"""No mode, policy, shape or form needs memory that grows with the output: the system refuses more."""

import resource
import subprocess
import sys

import pytest

from tests.support.tiers import some_everyday

# tokcap itself takes half of it. A copy of the output would not fit.
MOST_BYTES, OUTPUT_BYTES = 96 << 20, 80 << 20

# What an output begins with, repeats, and ends with.
OUTPUTS = {
    "one line": ("", "x y ", "\n"),
    "equal lines": ("", "a line of words 12345\n", ""),
    "zeros": ("", "\0" * 64, ""),
    "records": ("[0", '\n,{"id": 1, "name": "some name", "tags": ["a", "b"]}', "]\n"),
    "one string": ('{"a": "', "word and ", '"}\n'),
    "nested": ('{"x":[[0', ',[1,2,{"a":3}]', "]]}\n"),
    "lines of records": ("", '{"id": 1, "name": "some name", "tags": ["a", "b"]}\n', ""),
    "rows": ("a,b,c\n", '12345,"some, quoted text",3\n', ""),
    "one cell": ('a,b,c\n1,"', "word and ", '",3\n'),
    "columns": ("c1", ",c2", "\n1,2,3\n"),
}
CALLS = [
    *(("-n", "200", "--mode", mode) for mode in ("raw", "table", "summary", "handle_only")),
    *(("-n", "200", "--keep", keep) for keep in ("tail", "ends", "focus", "auto")),
    *(("-n", "400", "-o", output, "--mode", "table") for output in ("json", "jsonl")),
    *(("-o", output, "--mode", mode) for output in ("text", "json", "jsonl") for mode in ("raw", "table")),
]
# Each call for each kind of output, in turns.
TURNS = [
    (name, CALLS[(place + turn) % len(CALLS)])
    for turn in range(len(CALLS))
    for place, name in enumerate(OUTPUTS, 1)
]


@pytest.mark.parametrize(("name", "call"), some_everyday(TURNS, 12))
def test_memory_does_not_grow_with_the_output(name, call):
    begin, repeated, end = OUTPUTS[name]
    block = repeated.encode() * ((1 << 20) // len(repeated))
    tokcap = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "--spill", "never", *call],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE if "-n" in call else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES)),
    )
    tokcap.stdin.write(begin.encode())
    for _ in range(OUTPUT_BYTES // len(block)):
        tokcap.stdin.write(block)
    out, err = tokcap.communicate(end.encode())
    assert tokcap.returncode == 0, err
    assert b"memory" not in (out or b"") + err
