"""The same output and the same options give the same bytes, whatever earlier calls have counted."""

import json

import pytest

from tests.support.tiers import as_nightly

pytestmark = pytest.mark.usefixtures("with_store")

ROWS = [{"id": number, "name": f"name {number}", "text": "words " * 9} for number in range(1500)]
PAYLOADS = {
    "text": b"".join(b"line %d of a long text\n" % number for number in range(5000)),
    "long text": b"".join(b"line %d of a longer text\n" % number for number in range(180_000)),
    "json": json.dumps(ROWS).encode(),
    "jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in ROWS),
    "csv": b"id,name\n" + b"".join(b"%d,name %d\n" % (number, number) for number in range(9000)),
}
VIEWS = [
    ("-n", "100"),
    ("-n", "100", "--keep", "tail"),
    ("-n", "100", "--keep", "ends"),
    ("-n", "100", "--exact-total"),
    ("-n", "100", "--mode", "summary"),
    ("-n", "100", "--grep", "7"),
    ("-n", "100", "--tokenizer", "o200k_base"),
    *(("-n", "100", "--token-offset", offset) for offset in ("100", "3000", "20000", "1000000")),
    ("-n", "1000000"),
    ("-n", "250", "-o", "json"),
    ("-n", "250", "-o", "json", "--token-offset", "20000"),
]


def answer(ran) -> object:
    """What is the same in equal calls: everything but the duration."""
    assert ran.status == 0
    if not ran.out.startswith(b'{"ok"'):
        return ran.out, ran.err
    return {**ran.json, "meta": {**ran.json["meta"], "duration_ms": 0}}


@pytest.mark.parametrize("shape", [as_nightly(name) if name == "long text" else name for name in PAYLOADS])
def test_pages_are_the_same_before_and_after_everything_was_counted(inside, shape):
    handle = inside("-n", "250", "-o", "json", stdin=PAYLOADS[shape]).json["meta"]["handle"]
    before = {args: answer(inside("show", handle, *args)) for args in VIEWS}
    for tokenizer in ("cl100k_base", "o200k_base"):
        assert inside("show", handle, "--token-count", "--tokenizer", tokenizer).status == 0
    assert {args: answer(inside("show", handle, *args)) for args in VIEWS} == before
    # In another order too, and from an output that was stored when it was counted.
    inside("spill", "rm", handle)
    assert inside("--token-count", "--spill", "always", stdin=PAYLOADS[shape]).status == 0
    assert {args: answer(inside("show", handle, *args)) for args in reversed(VIEWS)} == before
