"""Windows of any payload: the cap holds by recount, the envelope is true, and pages give everything back."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.fuzz.target import Input, small_constants, target
from tests.support import corpus
from tests.support.json_documents import is_within, leaves, parsed
from tests.support.reference import recount
from tests.support.world import World, world
from tokcap.shapes.json_grammar import validated_values
from tokcap.tokens.chunks import as_text

if TYPE_CHECKING:
    from tests.support.program import Ran

PAYLOADS = [*corpus.TRICKY_JSON, *corpus.TRICKY_TABLES, *corpus.TRICKY_TEXT, *corpus.case_inputs()]
# Long enough to be cut.
LONGER = [payload * 20 for payload in (*corpus.TRICKY_TEXT, *corpus.TRICKY_JSON) if payload]
TABLES = [payload + payload.split(b"\n", 1)[-1] * 30 for payload in corpus.TRICKY_TABLES]
DOCUMENTS = [b"[" + b",".join([payload] * 12) + b"]" for payload in corpus.TRICKY_JSON[:12]]

LIMITS = (1, 2, 3, 5, 8, 11, 12, 15, 20, 30, 50, 80, 200, 1000)
ENCODINGS = ("cl100k_base", "o200k_base")
# A walk takes as many calls as there are pages.
MOST_PAGES = 20
# The reference goes down by recursion.
DEEPEST = 300


@target([*PAYLOADS, *LONGER, *TABLES, *DOCUMENTS], examples=30)
def window(given: Input) -> None:
    limit, name = given.pick(0, LIMITS), given.pick(1, ENCODINGS)
    output = given.pick(2, ("text", "json", "jsonl"))
    limit += 0 if output == "text" else 150
    args = [
        *("-n", str(limit), "--tokenizer", name, "-o", output, "--spill", "never"),
        *("--shape", given.pick(3, ("auto", "auto", "text", "json", "jsonl", "csv", "tsv"))),
        *("--keep", given.pick(4, ("head", "head", "tail", "ends"))),
        *("--mode", given.pick(5, ("raw", "raw", "raw", "table", "summary", "handle_only"))),
        *("--sentinel", given.pick(6, ("[TRUNCATED]", "", '"✂"', "a,b", "…" * 30))),
        *("--align", given.pick(7, ("record", "record", "token"))),
        *("--token-offset", str(given.pick(7, (0, 0, 0, 1, 7, 100)))),
        *given.pick(6, ((), (), (), ("--clean",), ("--redact",), ("--fields", "id,a.b"), ("--exact-total",))),
    ]
    with world() as here, small_constants(given, 1):
        ran = here.call(args, given.payload)
    assert ran.status in (0, 125), ran
    if ran.status == 125:
        # Refused: a keep without a limit and the like.
        assert ran.err.count(b"\n") == 1
        return
    check_cap(ran, output, limit, name)


def check_cap(ran: Ran, output: str, limit: int, name: str) -> None:
    assert recount(ran.out, name) <= limit
    if output == "json":
        returned = ran.json["meta"].get("returned_tokens")
        assert returned in (None, recount(ran.data_text, name))
    elif output == "jsonl":
        *records, last = ran.out.splitlines(keepends=True)
        assert "meta" in json.loads(last)
        for record in records:
            json.loads(record)


class Page(NamedTuple):
    """One page: its envelope, and its data with numbers as they are written."""

    envelope: dict[str, Any]
    data: object


@target([*PAYLOADS, *LONGER, *TABLES, *DOCUMENTS], examples=10)
def walk(given: Input) -> None:
    """Pages by `next_offset` are the payload: byte for byte, row for row, leaf for leaf."""
    args = [
        "-n",
        str(given.pick(0, (180, 210, 270, 450))),
        "--shape",
        given.pick(1, ("auto", "text", "auto")),
    ]
    with world() as here, small_constants(given, 3):
        shown = pages(here, given.payload, [*args, *given.pick(2, ((), ("--align", "token")))])
    if shown is None:
        return
    (kind,) = {page.envelope["meta"].get("shape", "text") for page in shown}
    warned = [warning.get("pointer") for page in shown for warning in page.envelope["warnings"]]
    if kind == "text":
        assert "".join("".join(page.envelope["data"]) for page in shown) == as_text(given.payload)
    elif kind in ("csv", "tsv") and not warned:
        check_rows(given.payload, shown, "," if kind == "csv" else "\t")
    elif kind in ("json", "jsonl"):
        check_leaves(given.payload, shown, kind, warned)


def pages(here: World, payload: bytes, args: list[str]) -> list[Page] | None:
    """Every page; None if there are too many of them, or no window has room for anything."""
    found: list[Page] = []
    offset = 0
    args = [*args, "-o", "json", "--spill", "never", "--sentinel", "", "--token-offset"]
    while len(found) < MOST_PAGES:
        ran = here.call([*args, str(offset)], payload)
        assert ran.status == 0, ran.err
        found.append(Page(ran.json, parsed(ran.data_text.decode())))
        following = ran.json["meta"].get("next_offset")
        if following is None:
            return None if "LIMIT_TOO_SMALL" in {one["code"] for one in ran.json["warnings"]} else found
        assert following > offset
        offset = following
    return None


def check_rows(payload: bytes, shown: list[Page], delimiter: str) -> None:
    """Every page has the header, and all rows are there once."""
    header, *rows = rows_of(as_text(payload), delimiter)
    walked = []
    for page in shown:
        found = rows_of("".join(page.envelope["data"]), delimiter)
        assert found[:1] in ([], [header])
        walked += found[1:]
    assert walked == rows


def rows_of(text: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    return [row for row in csv.reader(lines, delimiter=delimiter) if row]


def check_leaves(payload: bytes, shown: list[Page], kind: str, warned: list[str]) -> None:
    """Every leaf is there once and in order, but for those that a warning names."""
    texts = [payload[start:end].decode() for start, end in validated_values(payload)]
    if any(text.count("[") + text.count("{") > DEEPEST for text in texts):
        return
    source = [
        (f"/{number}{pointer}" if kind == "jsonl" else pointer, value)
        for number, text in enumerate(texts)
        for pointer, value in leaves(parsed(text))
    ]
    # A bare scalar stands in an array, an empty document for itself; an empty page has no leaf.
    is_leaf = kind == "json" and not source[0][0]
    walked = [value for page in shown for pointer, value in leaves(page.data) if pointer or value or is_leaf]
    if warned:
        # What fits into no window is replaced by the mark, and the mark here is empty.
        source, walked = (
            [leaf for leaf in source if leaf[1] != ""],
            [value for value in walked if value != ""],
        )
    certain = [
        value
        for pointer, value in source
        if not any(pointer == place or pointer.startswith(f"{place}/") for place in warned)
    ]
    assert is_within(certain, walked)
    assert is_within(walked, [value for _, value in source])
