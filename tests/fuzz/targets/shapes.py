"""The first look at a payload never says text where the second one finds a structure."""

from __future__ import annotations

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.payloads import payload_of
from tokcap.shapes import sniff
from tokcap.shapes.beginning import certainly_text


@target([*corpus.TRICKY_JSON, *corpus.TRICKY_TABLES, *corpus.case_inputs(), *corpus.TRICKY_TEXT])
def sniffer(given: Input) -> None:
    payload = payload_of(given.payload)
    for declared in ("auto", "json", "jsonl", "csv", "tsv"):
        found = sniff(payload, declared)
        assert found.shape in ("text", declared) or declared == "auto"
    if sniff(payload, "auto").shape != "text":
        beginning = given.payload[: given.knobs[0] * 256 + given.knobs[1]]
        assert not certainly_text(beginning)
        assert not certainly_text(given.payload)
