"""One line for an output: what it is, how large, how the command ended, how to read it."""

from __future__ import annotations

from tokcap.core.mark import words_of
from tokcap.core.tokenizer import Total
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.environment import ToolNames
    from tokcap.shapes.base import RunFacts


def headline(facts: RunFacts, what: str, count: str, search_option: str = "") -> str:
    """Return one line: what the output is, `count` records, sizes, how the run ended, how to read it."""
    phrases = ["nothing on stdout" if facts.err_bytes else "no output"]
    if facts.out_bytes:
        phrases = [what, count, size_words(facts.out_bytes)] if count else [what, size_words(facts.out_bytes)]
        if facts.out_tokens is not None:
            total = Total(facts.out_tokens, facts.out_tokens_exact)
            phrases.append(f"{words_of(total)} {'token' if total == Total(1) else 'tokens'}")
    if facts.err_bytes:
        phrases.append(f"stderr {size_words(facts.err_bytes)}")
    if facts.signal is not None:
        phrases.append(f"killed by {signal_name(facts.signal)}")
    elif facts.exit_status is not None:
        phrases.append(f"exit {facts.exit_status}")
    line = ", ".join(phrases)
    if facts.handle:
        way = tool_call(facts, facts.tools, search_option) if facts.tools else command(facts, search_option)
        line = f"[{facts.handle}] {line}; {way}"
    else:
        line += "; not stored"
    if facts.lost_bytes:
        line += f" (all but {size_words(facts.lost_bytes)}, which were not stored)"
    return line


def command(facts: RunFacts, search_option: str) -> str:
    """Return the command that shows the output, and the option that searches in it."""
    options = f" [{search_option}]" if search_option else ""
    if facts.err_bytes and not facts.out_bytes:
        options = " --stream err" + options
    return f"{facts.program} show {facts.handle}{options}"


def tool_call(facts: RunFacts, tools: ToolNames, search_option: str) -> str:
    """Return the same as a call of a tool: options are arguments, and a search may be a tool of its own."""
    stream = " stream=err" if facts.err_bytes and not facts.out_bytes else ""
    name, _, value = search_option.removeprefix("--").partition(" ")
    argument = f"{name}={value}"
    if name == "grep":
        argument = f"pattern={value}" if tools.search == tools.show else f"or {tools.search} pattern={value}"
    return f"{tools.show} handle={facts.handle}{stream}" + (f" [{argument}]" if name else "")


def numbered(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_words(size: int) -> str:
    """Return a size in words; three digits are enough."""
    if size < 1000:
        return numbered(size, "byte")
    # Round before the unit is chosen, so that 999.9 KB is 1.0 MB.
    for unit, scale in (("KB", 1000), ("MB", 10**6), ("GB", 10**9)):
        if round(size / scale) < 1000 or unit == "GB":
            break
    return f"{size / scale:.1f} {unit}" if size < 9.95 * scale else f"{size / scale:.0f} {unit}"


def signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
