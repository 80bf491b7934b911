"""What the beginning of a payload says about it: that it is certainly text, or binary data of some format.

`certainly_text` may return False for text. It never returns True for what `sniff` finds to be JSON or a
table.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.payload import Payload


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
    from tokcap.shapes.json_grammar import beginning_of_values

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


# The first bytes of common formats. Text may begin with `PK` or `BM`, so such short ones are left out.
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x89PNG\r\n\x1a\n": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"GIF87a": "GIF image",
    b"GIF89a": "GIF image",
    b"%PDF-": "PDF",
    b"PK\x03\x04": "zip",
    b"\x7fELF": "ELF program",
    b"SQLite format 3\x00": "SQLite database",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
# This much of a payload is examined.
SAMPLE_BYTES = 1 << 16
TAR = 257, b"ustar"
CONTROLS = bytes(sign for sign in range(32) if sign not in b"\t\n\r\f\b\x1b\x07")


def kind_of(payload: Payload) -> str:
    """Return the format of a binary payload; empty for text."""
    beginning = payload.read(0, min(payload.size, SAMPLE_BYTES))
    text = beginning.decode("utf-8", "replace")
    # The last character may be cut off.
    broken = text[:-1].count("\ufffd")
    controls = len(beginning) - len(beginning.translate(None, CONTROLS))
    looks_binary = b"\x00" in beginning or (broken + controls) * 10 > len(text)
    named = next((name for magic, name in MAGIC.items() if beginning.startswith(magic)), "")
    if named in ("PDF", "bzip2", "GIF image"):
        # These begin with letters, and so may a text.
        return named if looks_binary or broken or controls else ""
    if beginning[TAR[0] : TAR[0] + len(TAR[1])] == TAR[1] and b"\x00" in beginning[:512]:
        return "tar"
    return named or ("unknown format" if looks_binary else "")
