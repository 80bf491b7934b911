"""What the beginning of a payload already says of its shape. Light: most output is text, and needs no more.

`certainly_text` may say no to a text; it never says yes to what `sniff` would find to be JSON or a table.
"""

from __future__ import annotations

# So much of an output is looked at before its shape is sought in earnest.
BEGINNING_BYTES = 1 << 16
# And so much of it is held against the grammar of JSON.
GRAMMAR_BYTES = 1 << 10

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = b" \t\r\n"
# What a bare scalar begins with.
BARE = b"-0123456789tfn"

# And what can follow a bracket.
INSIDE = {b"{": b'"}', b"[": b'[{]"' + BARE}
# What a prompt ends with, and no name of a column has in it: who prompts waits for no newline.
PROMPTS = (": ", "? ", "> ")

LONGEST_NAME = 40
MOST_WORDS = 4


def certainly_text(beginning: bytes) -> bool:
    """Whether what begins like this can be nothing but text, whatever follows."""
    begun = beginning.removeprefix(BYTE_ORDER_MARK).lstrip(BLANKS)
    return bool(begun) and is_no_json(begun) and is_no_table(beginning.removeprefix(BYTE_ORDER_MARK))


def is_no_json(begun: bytes) -> bool:
    if begun[0] in BARE:
        # One bare value may be a document, but not with anything behind it.
        word = begun.split(None, 1)[0]
        return bool(begun[len(word) :].strip(BLANKS))
    if begun[:1] == b'"':
        end = end_of_string(begun)
        # A line break inside a string, or something behind it.
        return bool(begun[end:].strip(BLANKS)) if end else b"\n" in begun
    if begun[:1] not in (b"{", b"["):
        return True
    inside = begun[1:].lstrip(BLANKS)
    if inside and inside[:1] not in INSIDE[begun[:1]]:
        return True
    # `[ 10%] Building`: the grammar has to be asked. What is no JSON mostly shows it at once.
    from tokcap.shapes.jsontext import beginning_of_values

    try:
        beginning_of_values(begun[:GRAMMAR_BYTES])
    except ValueError:
        return True
    return False


def end_of_string(begun: bytes) -> int:
    """Where a string ends that begins here, on the same line; 0 if it does not."""
    place = 1
    while place < len(begun) and begun[place] not in b'"\n':
        place += 2 if begun[place] == ord("\\") else 1
    return place + 1 if begun[place : place + 1] == b'"' else 0


def is_no_table(beginning: bytes) -> bool:
    """A table has a delimiter in its first line, and names between the delimiters."""
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
    """Whether a cell may head a column: a few words on one line that begin with a letter."""
    if not (cell[:1].isalpha() or cell[:1] == "_") or cell != cell.strip() or "\n" in cell:
        return False
    if (
        any(prompt in cell for prompt in PROMPTS)
        or len(cell) > LONGEST_NAME
        or len(cell.split()) > MOST_WORDS
    ):
        return False
    return all(cell.count(one) == cell.count(other) for one, other in ("()", "[]", "{}"))
