"""How an answer is written: one class for each form, in one table."""

from __future__ import annotations

from tokcap.core.request import NAMING_LIMIT
from tokcap.lean.record import TYPE_CHECKING
from tokcap.lean.table import Table

if TYPE_CHECKING:
    from tokcap.forms.base import Form

# The least useful answer: a mark that names the command for the rest, and a little text. It is the same for
# every form; an envelope comes on top.
LEAST_TOKENS = NAMING_LIMIT

FORMS: Table[Form] = Table(
    text="tokcap.forms.text:TEXT",
    json="tokcap.forms.json:JSON",
    jsonl="tokcap.forms.jsonl:JSONL",
)
