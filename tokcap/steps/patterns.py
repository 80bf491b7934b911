"""Every pattern that a short call may need, compiled ahead of time into `lean/patterns.ready`.

    python -m tokcap.steps.patterns

Run it after one of these patterns has changed. A test fails until then. `lean/findings.ready` has the
patterns that only a survey of a text needs, and `lean/pre_splits.ready` those of added tokenizers, so that
other calls do not read them.
"""

from __future__ import annotations

from tokcap.findings.patterns import READY as FINDINGS
from tokcap.lean.patterns import MORE_READY_FILE, PRE_SPLITS_READY_FILE, READY_FILE, key_of
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_text.patterns import READY as JSON_PATTERNS
from tokcap.tokens.chunks import WORDS_AND_LINES
from tokcap.tokens.other_pre_splits import OTHER_ASCII_PRE_SPLIT, OTHER_CLASS_PRE_SPLIT
from tokcap.tokens.small_text import ASCII_PRE_SPLIT, CLASS_PRE_SPLIT

if TYPE_CHECKING:
    from collections.abc import Sequence

# Source and flags of each pattern.
PATTERNS = (
    *((source, 0) for source in (*CLASS_PRE_SPLIT.values(), ASCII_PRE_SPLIT["o200k_base"], WORDS_AND_LINES)),
    *((pattern.pattern, pattern.flags) for pattern in JSON_PATTERNS),
)
MORE_PATTERNS = tuple((pattern.pattern, pattern.flags) for pattern in FINDINGS)
PRE_SPLITS = tuple(
    (source, 0) for source in (*OTHER_CLASS_PRE_SPLIT.values(), *OTHER_ASCII_PRE_SPLIT.values())
)

READY_FILES = {READY_FILE: PATTERNS, MORE_READY_FILE: MORE_PATTERNS, PRE_SPLITS_READY_FILE: PRE_SPLITS}


def ready_patterns(patterns: Sequence[tuple[bytes, int]] = PATTERNS) -> bytes:
    """Return the content of such a file."""
    from marshal import dumps
    from re import _compiler, _parser  # type: ignore[attr-defined]  # the only way to the code itself

    found = {}
    for source, flags in patterns:
        parsed = _parser.parse(source, flags)
        code = _compiler._code(parsed, flags)
        words = b"".join(int(word).to_bytes(4, "little") for word in code)
        found[key_of(source, flags)] = (parsed.state.groups - 1, words)
    # In this format equal values give equal bytes, and every Python can read it.
    return dumps(found, 2)


if __name__ == "__main__":
    for path, listed in READY_FILES.items():
        with open(path, "wb") as file:
            file.write(ready_patterns(listed))
