"""Parts of an output, stored or not: pages, values by their pointers, lines that match, fields."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.fuzz.constants import small_constants
from tests.fuzz.target import Input, target
from tests.fuzz.targets.windows import DEEPEST, DOCUMENTS, LONGER, TABLES
from tests.support import corpus
from tests.support.json_documents import is_within, leaves, parsed
from tests.support.world import world
from tokcap.shapes.fields import select
from tokcap.shapes.json_text.grammar import validated_values
from tokcap.shapes.json_text.scanner import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from tests.support.program import Ran

# Each is asked for twice.
FEW_PAGES = 6

# What is stored is what does not fit.
STRUCTURED = [*LONGER, *DOCUMENTS, *TABLES, *corpus.case_inputs()]


@target(STRUCTURED, examples=2)
def stored_pages(given: Input) -> None:
    """Pages of a stored output, found by indexes and seek points, are those of the output itself."""
    limit = str(given.pick(0, (20, 33, 60)))
    args = ["-n", limit, "-o", "json", "--tokenizer", given.pick(1, ("cl100k_base", "o200k_base", "approx"))]
    if given.pick(2, (False, False, True)):
        args += ["--align", "token"]
    offset, number = 0, 0
    with world() as here:
        with small_constants(given, 3):
            first = here.call([*args, "--spill", "always"], given.payload)
        handle = first.json["meta"]["handle"]
        while number < FEW_PAGES:
            window = [*args, "--token-offset", str(offset)]
            plain = here.call([*window, "--spill", "never"], given.payload)
            with small_constants(given, 3):
                shown = here.call(["show", handle, *window])
            assert essence(shown) == essence(plain)
            # Pages are asked for in order, or from far behind back to the beginning.
            following = plain.json["meta"].get("next_offset")
            if following is None or following == offset:
                return
            offset, number = following, number + 1
            if number == given.pick(4, (99, 1, 2)):
                offset += given.knobs[5] * 3


def essence(ran: Ran) -> tuple[object, ...]:
    """What must be the same wherever an output is read from."""
    meta = ran.json["meta"]
    kept = (
        "truncated",
        "token_offset",
        "next_offset",
        "returned_tokens",
        "returned_count",
        "total_count",
        "shape",
    )
    return ran.data_text, ran.status, *(meta.get(name) for name in (*kept, "first_pointer", "next_pointer"))


@target([*corpus.TRICKY_JSON, *corpus.case_inputs("json*")], examples=30)
def pointers(given: Input) -> None:
    """A pointer leads to the value that the standard library finds: a string as text."""
    data = given.payload
    try:
        ((start, end),) = validated_values(data)
    except ValueError:
        return
    text = data[start:end].decode()
    if text.count("[") + text.count("{") > DEEPEST:
        return
    found = [leaf for leaf in leaves(parsed(text)) if leaf[0]]
    unique = [pointer for pointer, _ in found]
    with world() as here:
        here.call(["--spill", "always", "-o", "json"], data)
        if not found:
            assert here.call(["show", "@last", "--pointer", "/no/where"]).status in (1, 2)
            return
        pointer, value = found[given.knobs[0] % len(found)]
        if unique.count(pointer) > 1 or "\0" in pointer or not is_text(pointer):
            return
        ran = here.call(["show", "@last", "--pointer", pointer])
    if has_duplicate_keys(text):
        return
    assert ran.status == 0, ran.err
    if type(value) is str:
        expected = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        assert ran.out == expected
    else:
        assert parsed(ran.out.decode()) == value


def is_text(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def has_duplicate_keys(text: str) -> bool:
    found = False

    def pairs(members: list[tuple[str, Any]]) -> None:
        nonlocal found
        found = found or len({key for key, _ in members}) < len(members)

    json.loads(text, object_pairs_hook=pairs, parse_int=str, parse_float=str)
    return found


@target([*corpus.TRICKY_TEXT, *corpus.case_inputs("text"), *corpus.sources(4)], examples=12)
def matching_lines(given: Input) -> None:
    """Lines that match, with their numbers and places, are those that the standard library finds."""
    data = given.payload
    lines = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    if data.endswith(b"\n") or not data:
        lines = lines[:-1]
    elif lines:
        lines[-1] = data.split(b"\n")[-1]
    if any(len(line) > 300 for line in lines):
        return
    word = next((word for word in data.decode("utf-8", "ignore").split()[given.knobs[0] :]), "a")[:20]
    if not word.isprintable():
        return
    pattern = given.pick(1, (re.escape(word), ".", "^$", r"\d+", "[aeiou]$", r"(?i)THE"))
    context = given.pick(2, (0, 0, 1, 3))
    with world() as here:
        here.call(["--spill", "always", "-o", "json"], data)
        with small_constants(given, 3):
            args = ["show", "@last", "--grep", pattern, "-n", "1000000"]
            ran = here.call([*args, *(("--context", str(context)) if context else ())])
    texts = [line.decode("utf-8", "surrogateescape") for line in lines]
    matches = {number for number, text in enumerate(texts) if re.search(pattern, text)}
    if not matches:
        assert (ran.status, ran.out) == (1, b"")
        return
    shown = {
        number for number in range(len(lines)) if any(abs(number - match) <= context for match in matches)
    }
    expected = [
        (b"%d" % (number + 1), b":" if number in matches else b"-", lines[number]) for number in sorted(shown)
    ]
    found = [
        (match[1], match[2], match[3])
        for match in re.finditer(rb"^(\d+)([:-])\d+[:-](.*)\n", ran.out, re.MULTILINE)
    ]
    assert found == expected


FIELDS = ("a", "id,name", "a.b", "/a/b", "items", "", "a,a.b,/", "x..y", ".", "[TRUNCATED]", "name, id ,id")


@target(
    [*corpus.TRICKY_JSON, *corpus.TRICKY_TABLES, *corpus.case_inputs("json*"), *corpus.case_inputs("csv")]
)
def fields(given: Input) -> None:
    """What is selected is a part of the payload, of the same shape, and selecting again changes nothing."""
    from tests.support.payloads import payload_of
    from tokcap.shapes import sniff

    shape = sniff(payload_of(given.payload), "auto").shape
    chosen = given.pick(0, FIELDS)
    once = select(payload_of(given.payload), shape, chosen)
    assert select(payload_of(once.data), shape, chosen).data == once.data
    if shape == "text":
        assert once.data == given.payload
    if shape not in ("json", "jsonl") or given.payload.count(b"[") + given.payload.count(b"{") > DEEPEST:
        return
    before, after = (
        [
            value
            for start, end in validated_values(data)
            for _, value in leaves(parsed(data[start:end].decode()))
        ]
        for data in (given.payload.removeprefix(BYTE_ORDER_MARK), once.data)
    )
    # An object of which nothing was asked for is empty, and one leaf more.
    assert is_within([value for value in after if value], before)
