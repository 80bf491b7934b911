"""What coding agents show of a long output, by their documented rules, in exactly the given number of tokens.

Real limits are in characters or lines. Here every rule gets the same tokens, so that only the choice is
compared. A note that an agent adds is inside the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.useful.outputs import count

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.useful.outputs import Output

GAP = b"\n[... omitted ...]\n"
SAVED = b"\n[output too large, saved to /tmp/output.txt]\n"


def within(limit: int, make: Callable[[int], bytes]) -> bytes:
    """Return what `make` gives for the most tokens whose recount is within the limit."""
    tokens = limit
    while (over := count(made := make(tokens)) - limit) > 0 and tokens > 0:
        tokens = max(tokens - over, 0)
    return made


def first(output: Output, tokens: int) -> bytes:
    return whole_characters(output.merged[: output.index.byte_at(min(tokens, output.tokens))])


def last(output: Output, tokens: int) -> bytes:
    return whole_characters(output.merged[output.index.byte_at(max(output.tokens - tokens, 0)) :])


def whole_characters(data: bytes) -> bytes:
    """Return data without characters that were cut at its ends."""
    text = data.decode("utf-8", "replace")
    return text.strip("\N{REPLACEMENT CHARACTER}").encode()


def head_bytes(output: Output, limit: int) -> bytes:
    """`head -c`."""
    return within(limit, lambda tokens: first(output, tokens))


def tail_bytes(output: Output, limit: int) -> bytes:
    """`tail -c`."""
    return within(limit, lambda tokens: last(output, tokens))


def two_parts(output: Output, limit: int, head_share: float) -> bytes:
    def parts(tokens: int) -> bytes:
        head = int(tokens * head_share)
        return first(output, head) + GAP + last(output, tokens - head)

    return within(limit, parts)


def halves(output: Output, limit: int) -> bytes:
    """Codex, Cline, OpenHands: the middle is removed."""
    return two_parts(output, limit, 0.5)


def fifth_and_rest(output: Output, limit: int) -> bytes:
    """Gemini CLI, Qwen Code: 20 % of the beginning, 80 % of the end."""
    return two_parts(output, limit, 0.2)


def last_lines(output: Output, limit: int) -> bytes:
    """opencode, pi, Goose: the last lines. A line that is longer than the limit is cut."""

    def lines(tokens: int) -> bytes:
        shown = last(output, tokens)
        starts_inside = tokens < output.tokens and not output.merged[: -len(shown) or None].endswith(b"\n")
        _, newline, rest = shown.partition(b"\n")
        return rest if starts_inside and newline and rest else shown

    return within(limit, lines)


def first_bytes(output: Output, limit: int) -> bytes:
    """Claude Code: the first bytes, and where the rest is."""
    return within(limit, lambda tokens: first(output, tokens) + SAVED)


AGENTS = {
    "halves": ("halves of head and tail (Codex, Cline, OpenHands)", halves),
    "20-80": ("20 % head, 80 % tail (Gemini CLI, Qwen Code)", fifth_and_rest),
    "last-lines": ("last lines (opencode, pi, Goose)", last_lines),
    "first-bytes": ("first bytes and a path (Claude Code)", first_bytes),
    "head-c": ("`head -c`", head_bytes),
    "tail-c": ("`tail -c`", tail_bytes),
}
