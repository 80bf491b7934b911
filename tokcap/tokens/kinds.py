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
    "symbols": ((0x2000, 0x2E80), (0xE000, 0xF900), (0xFE00, 0xFE10), (0x1F000, 0x20000)),
}
BLOCK = "block "
FRAGMENT = "fragment"

# Kinds of one byte. A tokenizer that falls back to bytes makes at most one token of it.
ONE_BYTE_KINDS = ("blank 1", "newline 1", "sign 1", "lower 1", "capital 1")


def kind_of(token: bytes) -> str:
    """Return the kind of a token, by its characters and the length of its word."""
    if not token.isascii():
        try:
            return script_of(token.decode())
        except UnicodeDecodeError:
            return FRAGMENT
    text = token.decode()
    size = len(text)
    if text.isspace():
        kind = "newline" if "\n" in text or "\r" in text else "blank"
        return f"{kind} 1" if size == 1 else kind
    word = text.lstrip(" ")
    if word.isdigit():
        return "digits"
    if word.isalpha():
        if size == 1:
            return "lower 1" if word.islower() else "capital 1"
        # A word begins with a blank. In identifiers, and in random letters, parts of words have none.
        return f"{'word' if size > len(word) else 'part'} {case_of(word)} {length_of(word)}"
    if size == 1:
        return "sign 1"
    if text[-1].isalpha():
        return "sign and word"
    return "signs and newline" if text[-1] == "\n" else "signs"


def case_of(word: str) -> str:
    if word.islower():
        return "lower"
    return "upper" if word.isupper() and len(word) > 1 else "capital"


def length_of(word: str) -> str:
    size = len(word)
    return str(size) if size < 4 else "4-6" if size < 7 else "7+"


def script_of(text: str) -> str:
    """Return the script of the highest code point: signs and blanks around it matter less."""
    code = ord(max(text))
    if code < FIRST_BLOCK:
        return "latin"
    for kind, ranges in SCRIPTS.items():
        if any(first <= code < end for first, end in ranges):
            return kind
    return f"{BLOCK}{code // BLOCK_CHARACTERS * BLOCK_CHARACTERS:04x}"
