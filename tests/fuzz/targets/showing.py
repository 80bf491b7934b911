"""Parts of an output: values by their pointers, and fields."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.target import Input, target
from tests.fuzz.targets.windows import DEEPEST
from tests.support import corpus
from tests.support.json_documents import is_within, leaves, parsed
from tests.support.world import world
from tokcap.shapes.json_grammar import validated_values
from tokcap.shapes.json_scanner import BYTE_ORDER_MARK
from tokcap.shapes.paths import select


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
