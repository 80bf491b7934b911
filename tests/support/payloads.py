"""Payloads in memory, and the embedded tokenizers, opened once for all tests of a process."""

from tests.support.reference import ENCODINGS
from tokcap.core.payload import Spool
from tokcap.tokens import open_tokenizer

TOKENIZERS = {name: open_tokenizer(name) for name in ENCODINGS}


def payload_of(data: bytes) -> Spool:
    spool = Spool()
    spool.write(data)
    return spool
