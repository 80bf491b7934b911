"""What to say if the tokenizer of the model that reads the output is not here."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.request import View


def substituted(view: View) -> Notice:
    """Return a warning that says how the tokens of the model could be counted."""
    from tokcap.tokens.models import find_model

    try:
        needed = find_model(view.model, {}).tokenizer
    except UsageError:
        # A model of the user's own table.
        needed = None
    if needed:
        reason = f"the vocabulary of {view.model} was not added (tokcap tokenizer add {needed} FILE)"
    else:
        reason = f"the tokenizer of {view.model} is not published"
    return Notice("TOKENIZER_SUBSTITUTED", f"{reason}; counted with {view.tokenizer}")
