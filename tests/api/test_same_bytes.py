"""`cap` and the command line write the same bytes for the same input and options."""

import json
import random
import re

import pytest

from tests.support.tiers import some_everyday, times
from tokcap import TokcapError, cap

GENERATED = 500
IN_REAL_PROCESSES = 6 * times()

WORDS = [
    "build",
    "error:",
    "naïve",
    "日本語",
    "0x1f",
    "  ",
    "\t",
    "🙂",
    "path/to/file.py",
    "a,b",
    '"',
    "\\",
    "12345",
    "\x1b[1mok",
]


def a_text(rng: random.Random) -> bytes:
    lines = (" ".join(rng.choices(WORDS, k=rng.randrange(9))) for _ in range(rng.randrange(60)))
    text = rng.choice(["\n", "\n", "\r\n", "\n\n"]).join(lines).encode()
    return text + rng.choice([b"", b"\n", b"\xff\xfe", b"\0"])


def a_value(rng: random.Random, depth: int = 0):
    kind = rng.randrange(6 if depth < 3 else 4)
    if kind == 4:
        return [a_value(rng, depth + 1) for _ in range(rng.randrange(6))]
    if kind == 5:
        return {rng.choice("abcdef"): a_value(rng, depth + 1) for _ in range(rng.randrange(5))}
    return [rng.randrange(10**6), " ".join(rng.choices(WORDS, k=4)), None, rng.random()][kind]


def an_object(rng: random.Random):
    return {key: a_value(rng) for key in rng.sample("abcdef", 4)}


def a_document(rng: random.Random) -> bytes:
    value = [an_object(rng) for _ in range(rng.randrange(20))]
    document = rng.choice([value, {"a": value, "b": an_object(rng)}, a_value(rng)])
    return json.dumps(document, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5).encode()


def some_lines(rng: random.Random) -> bytes:
    return b"".join(json.dumps(an_object(rng)).encode() + b"\n" for _ in range(rng.randrange(30)))


def a_table(rng: random.Random) -> bytes:
    separator = rng.choice([",", "\t"])
    rows = [["a", "b", "c"], *([rng.choice(["x", "y z", "7", '"q\nr"']) for _ in "abc"] for _ in range(40))]
    return "".join(separator.join(row) + "\n" for row in rows[: rng.randrange(1, 41)]).encode()


def a_call(seed: int) -> tuple[bytes, dict[str, object]]:
    rng = random.Random(seed)
    data = rng.choice([a_text, a_text, a_document, a_document, some_lines, a_table])(rng)
    options: dict[str, object] = {"limit": rng.choice([None, 1, 3, 10, 25, 60, 150, 400])}
    choices = {
        "offset": [0, 1, 7, 30, 200, 10**6],
        "tokenizer": ["cl100k_base", "o200k_base", "approx"],
        "shape": ["auto", "auto", "text", "json", "jsonl", "csv", "tsv"],
        "keep": ["head", "tail", "ends"],
        "align": ["record", "token"],
        "sentinel": ["[TRUNCATED]", "", "… cut …"],
        "fields": ["a", "a,b.c", "/b/0,zz"],
        "mode": ["raw", "table", "summary", "handle_only"],
        "output": ["text", "json", "jsonl"],
        "exact_total": [True],
        "token_count": [True],
        "clean": [True],
        "redact": [True],
        "context_window": [4000, 100_000],
    }
    for name in rng.sample(sorted(choices), rng.randrange(5)):
        options[name] = rng.choice(choices[name])
    return data, options


def arguments_of(options: dict[str, object]) -> list[str]:
    """Return the options as arguments of the command line."""
    words = []
    for name, value in options.items():
        flag = f"--token-{name}" if name in ("limit", "offset") else "--" + name.replace("_", "-")
        if value is not None:
            words.append(flag if value is True else f"{flag}={value}")
    return words


def without_duration(data: bytes) -> bytes:
    return re.sub(rb'"duration_ms":\d+', b"", data)


def library_output(data: bytes, options: dict[str, object]) -> bytes:
    try:
        return cap(data, **options).data
    except TokcapError as error:
        return str(error).encode()


def command_line_output(ran, output: object) -> bytes:
    """Return the output, or the message of a refusal, which the envelope contains too."""
    refused = ran.status and (output in (None, "text") or not ran.json["ok"])
    return ran.err.removeprefix(b"tokcap: ").rstrip(b"\n") if refused else ran.out


@pytest.mark.parametrize("first", some_everyday(range(0, GENERATED, 50), 3))
def test_cap_returns_the_same_bytes_as_the_command_line(first, inside):
    cut = 0
    for seed in range(first, first + 50):
        data, options = a_call(seed)
        ran = inside(*arguments_of(options), stdin=data)
        expected = command_line_output(ran, options.get("output"))
        assert without_duration(library_output(data, options)) == without_duration(expected), (seed, options)
        cut += ran.out != data
    assert cut > 10


def test_cap_returns_the_bytes_of_a_real_process(tokcap):
    for seed in range(0, GENERATED, GENERATED // IN_REAL_PROCESSES):
        data, options = a_call(seed)
        ran = tokcap(*arguments_of(options), stdin=data)
        expected = command_line_output(ran, options.get("output"))
        assert without_duration(library_output(data, options)) == without_duration(expected), (seed, options)
