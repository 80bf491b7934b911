"""Every pattern that a short call may need, compiled ahead of time into `lean/patterns.ready`.

    python -m tokcap.steps.patterns

Run it after one of these patterns has changed. A test fails until then.
"""

from __future__ import annotations

from tokcap.lean.patterns import READY_FILE, key_of
from tokcap.shapes.json_text.patterns import READY as JSON_PATTERNS
from tokcap.tokens.chunks import WORDS_AND_LINES
from tokcap.tokens.small_text import CLASS_PRE_SPLIT

# Source and flags of each pattern.
PATTERNS = (
    *((source, 0) for source in (*CLASS_PRE_SPLIT.values(), WORDS_AND_LINES)),
    *((pattern.pattern, pattern.flags) for pattern in JSON_PATTERNS),
)


def ready_patterns() -> bytes:
    """Return the content of `lean/patterns.ready`: per pattern a line for its source and one for its code."""
    from re import _compiler, _parser  # type: ignore[attr-defined]  # the only way to the code itself

    lines = []
    for source, flags in PATTERNS:
        parsed = _parser.parse(source, flags)
        code = _compiler._code(parsed, flags)
        words = b"".join(int(word).to_bytes(4, "little") for word in code)
        lines += [key_of(source, flags).decode(), f"{parsed.state.groups - 1} {words.hex()}"]
    return "".join(f"{line}\n" for line in lines).encode()


if __name__ == "__main__":
    with open(READY_FILE, "wb") as file:
        file.write(ready_patterns())
