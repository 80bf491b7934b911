"""Response modes: a payload and what is known of its run in, fewer bytes to read out.

`as_table` keeps every value, `summary` what a reader needs to decide what to read next, `handle_only` one
line. No model is asked, no clock and no path is read: the same payload gives the same bytes. Nothing is
cut to a limit here; that is done to the answer as to any other payload.
"""

from tokcap.shapes.modes.compaction import Changed, as_table
from tokcap.shapes.modes.headline import Facts, handle_only
from tokcap.shapes.modes.summary import summary

__all__ = ["Changed", "Facts", "as_table", "handle_only", "summary"]
