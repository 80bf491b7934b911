"""Decide from its beginning whether a payload is certainly text. Most output needs no other check.

`certainly_text` may return False for text. It never returns True for what `sniff` finds to be JSON or a
table.
"""

from __future__ import annotations

# This much of an output is examined before its shape is sniffed.
BEGINNING_BYTES = 1 << 16
# This much of it is checked by the grammar of JSON.
GRAMMAR_BYTES = 1 << 10

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = b" \t\r\n"
# What a bare scalar begins with.
BARE = b"-0123456789tfn"

# What can follow a bracket.
INSIDE = {b"{": b'"}', b"[": b'[{]"' + BARE}
# What a prompt ends with. A prompt is not followed by a newline, and no column name contains one.
PROMPTS = (": ", "? ", "> ")

LONGEST_NAME = 40
MOST_WORDS = 4


def certainly_text(beginning: bytes) -> bool:
    """Return whether output that begins like this is text, whatever follows."""
    begun = beginning.removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)
    return bool(begun) and cannot_be_json(begun) and cannot_be_table(beginning.removeprefix(BYTE_ORDER_MARK))


def cannot_be_json(begun: bytes) -> bool:
    """Return whether no JSON text can begin like this."""
    if begun[0] in BARE:
        # One bare value may be a document, but not if anything follows it.
        word = begun.split(None, 1)[0]
        return bool(begun[len(word) :].strip(BLANKS))
    if begun[:1] == b'"':
        end = end_of_string(begun)
        # A line break inside the string, or something after it.
        return bool(begun[end:].strip(BLANKS)) if end else b"\n" in begun
    if begun[:1] not in (b"{", b"["):
        return True
    inside = begun[1:].lstrip(BLANKS)
    if inside and inside[:1] not in INSIDE[begun[:1]]:
        return True
    # `[ 10%] Building`: only the grammar can decide, usually after a few bytes.
    from tokcap.shapes.json_text.grammar import beginning_of_values

    try:
        beginning_of_values(begun[:GRAMMAR_BYTES])
    except ValueError:
        return True
    return False


def end_of_string(begun: bytes) -> int:
    """Return where the string at the beginning ends, if that is on the same line; else 0."""
    # Without escaped quotes and what could be taken for one, at the same places.
    plain = begun.partition(b"\n")[0].replace(rb"\\", b"..").replace(rb"\"", b"..")
    return plain.find(b'"', 1) + 1


def cannot_be_table(beginning: bytes) -> bool:
    """Return whether the first line is not a header: delimiters with names between them."""
    line, newline, _ = beginning.partition(b"\n")
    text = line.rstrip(b"\r").decode("utf-8", "replace")
    if not newline:
        return '"' not in text and any(prompt in text for prompt in PROMPTS)
    if "," not in text and "\t" not in text:
        return True
    return '"' not in text and not any(
        sign in text and all(map(is_name, text.split(sign))) for sign in (",", "\t")
    )


def is_name(cell: str) -> bool:
    """Return whether a cell can be a column name: a few words on one line that begin with a letter."""
    if not (cell[:1].isalpha() or cell[:1] == "_") or cell != cell.strip() or "\n" in cell:
        return False
    if (
        any(prompt in cell for prompt in PROMPTS)
        or len(cell) > LONGEST_NAME
        or len(cell.split()) > MOST_WORDS
    ):
        return False
    return all(cell.count(one) == cell.count(other) for one, other in ("()", "[]", "{}"))
