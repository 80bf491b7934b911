"""How an answer is written: one class for each form, in one table."""

from __future__ import annotations

from tokcap.core.request import NAMING_LIMIT
from tokcap.startup.record import TYPE_CHECKING, Table

if TYPE_CHECKING:
    from tokcap.outputs.base import Form

# The least useful answer: a mark that names the command for the rest, and a little text. It is the same for
# every form; an envelope comes on top.
LEAST_TOKENS = NAMING_LIMIT

FORMS: Table[Form] = Table(
    text="tokcap.outputs.text:TEXT",
    json="tokcap.outputs.json:JSON",
    jsonl="tokcap.outputs.json:JSONL",
)
