"""tokcap with small constants: what otherwise needs megabytes (blocks, strides, spools) happens in a line."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tokcap.core import spool
from tokcap.shapes import json_sniff, record_window, table_window
from tokcap.shapes.json_text import tree
from tokcap.steps import grep
from tokcap.tokens import chunks, index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fuzz.target import Input


@contextlib.contextmanager
def small_constants(given: Input, knob: int) -> Iterator[None]:
    """A knob says how small; every second time nothing changes."""
    size = given.pick(knob, (0, 16, 0, 64, 0, 300))
    with pytest.MonkeyPatch.context() as patch:
        if size:
            patch.setattr(chunks, "CHUNK_BYTES", size)
            patch.setattr(chunks, "FIRST_CHUNK_BYTES", size // 2)
            patch.setattr(index, "READ_BYTES", size * 2)
            patch.setattr(tree, "STRIDE_BYTES", size * 3)
            patch.setattr(table_window, "STRIDE_BYTES", size * 3)
            patch.setattr(record_window, "FIRST_BYTES", size)
            patch.setattr(json_sniff, "SMALL_BYTES", size * 4)
            patch.setattr(json_sniff, "LIGHT_BYTES", size * 2)
            patch.setattr(grep, "READ_BYTES", size)
            # The only default of its place; bound when the class was made.
            patch.setattr(spool.Spool.__init__, "__defaults__", (size,))
        yield
