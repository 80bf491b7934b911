"""The kind of text that a token is made of: prose, parts of names, digits, signs, blanks, other scripts.

A token's kind depends on its own bytes only, so what is computed from kinds adds up wherever tokens do.
"""

from __future__ import annotations

# Characters beyond the Latin letters count by their script: the large ones by these ranges, others by their
# block of 128 code points.
BLOCK_CHARACTERS = 128
FIRST_BLOCK = 0x250
SCRIPTS = {
    "greek": ((0x370, 0x400),),
    "cyrillic": ((0x410, 0x452),),
    # Letters that Russian, or Arabic, does not have: their words are in the vocabularies less often.
    "more cyrillic": ((0x400, 0x410), (0x452, 0x530)),
    "armenian": ((0x530, 0x590),),
    "hebrew": ((0x590, 0x600),),
    "arabic": ((0x600, 0x66F),),
    "more arabic": ((0x66F, 0x780), (0xFB50, 0xFE00), (0xFE70, 0xFF00)),
    "han": ((0x2E80, 0x3040), (0x3100, 0xA000), (0xF900, 0xFB00), (0xFF00, 0xFFF0), (0x20000, 0x40000)),
    "kana": ((0x3040, 0x3100),),
    "hangul": ((0x1100, 0x1200), (0xAC00, 0xD7B0)),
    # Lines of tables are common, and runs of them are tokens. Heavy ones are in progress bars, and rare.
    "heavy lines": ((0x2501, 0x2502), (0x2503, 0x2504), (0x2578, 0x257C)),
    "lines": ((0x2500, 0x2580),),
    "symbols": ((0x2000, 0x2E80), (0xE000, 0xF900), (0xFE00, 0xFE10), (0x1F000, 0x20000)),
}
# A profile without the kind has this one, of which it is a part.
PART_OF = {"heavy lines": "symbols", "lines": "symbols"}
BLOCK = "block "
FRAGMENT = "fragment"

# What white space of one byte is.
ONE_BYTE = {
    **dict.fromkeys((b"\n", b"\r"), "newline 1"),
    **dict.fromkeys((b" ", b"\t", b"\v", b"\f"), "blank 1"),
}
# Kinds of one byte. A tokenizer that falls back to bytes makes at most one token of it.
ONE_BYTE_KINDS = ("blank 1", "newline 1", "sign 1", "lower 1", "capital 1")


CASES = ("lower", "capital", "upper")
LENGTHS = ("", "1", "2", "3", "4-6", "4-6", "4-6", "7+")
# A word begins with a blank. In names, and in random letters, parts of words have none. By case and length.
WORDS, PARTS = (
    {case: [f"{kind} {case} {length}" for length in LENGTHS] for case in CASES} for kind in ("word", "part")
)


def shapes_of_bytes() -> bytes:
    """Return one byte for all that mean the same to `kind_of`: translated bytes have the same kind."""
    table = bytearray(b"." * 0x80)
    table.extend(range(0x80, 0x100))
    table[ord("0") : ord("9") + 1] = b"0" * 10
    table[ord("A") : ord("Z") + 1] = b"A" * 26
    table[ord("a") : ord("z") + 1] = b"a" * 26
    for byte in b" \n\r":
        table[byte] = byte
    for byte in b"\t\v\f":
        table[byte] = ord("\t")
    return bytes(table)


SHAPE_OF_BYTES = shapes_of_bytes()


def kind_of(token: bytes) -> str:
    """Return the kind of a token, by its characters and the length of its word."""
    if not token.isascii():
        try:
            return script_of(token.decode())
        except UnicodeDecodeError:
            return FRAGMENT
    size = len(token)
    word = token.lstrip(b" ")
    length = len(word)
    if word.isalpha():
        if size == 1:
            return "lower 1" if word.islower() else "capital 1"
        case = "lower" if word.islower() else "upper" if length > 1 and word.isupper() else "capital"
        return (PARTS if size == length else WORDS)[case][min(length, 7)]
    if size == 1:
        return ONE_BYTE.get(token, "sign 1") if not token.isdigit() else "digits"
    if word.isdigit():
        return "digits"
    if not length or token.isspace():
        return "newline" if b"\n" in token or b"\r" in token else "blank"
    if token[-1:].isalpha():
        return "sign and word"
    return "signs and newline" if token.endswith(b"\n") else "signs"


def script_of(text: str) -> str:
    """Return the script of the highest code point: signs and blanks around it matter less."""
    code = ord(max(text))
    if code < FIRST_BLOCK:
        return "latin"
    for kind, ranges in SCRIPTS.items():
        if any(first <= code < end for first, end in ranges):
            return kind
    return f"{BLOCK}{code // BLOCK_CHARACTERS * BLOCK_CHARACTERS:04x}"
