"""Quote words so that a person can copy them into any shell."""

from __future__ import annotations

# Characters that no shell treats specially. Not `=`: zsh expands `=name` to the path of a program.
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/@%")


def quoted(word: str) -> str:
    """Return a word as every shell reads it back; a plain word stays as it is."""
    return word if word and PLAIN.issuperset(word) else always_quoted(word)


def always_quoted(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"
