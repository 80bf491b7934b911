"""How an answer is written: one class for each form, in one table."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.lean.table import Table

if TYPE_CHECKING:
    from tokcap.forms.base import Form

FORMS: Table[Form] = Table(
    text="tokcap.forms.text:TEXT",
    json="tokcap.forms.json:JSON",
    jsonl="tokcap.forms.jsonl:JSONL",
)
