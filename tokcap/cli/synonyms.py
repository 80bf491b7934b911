"""What an option that does not exist probably means: a misspelt one, or its name in another tool.

Loaded only for messages.
"""

from __future__ import annotations

from tokcap.cli.options import options_by_flag
from tokcap.core.spelling import nearest
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Names that people and models guess, by what they mean. A line applies if the command has its option; of
# several that apply, all are named.
GUESSES = {
    "--token-limit": "max-tokens max-output-tokens max-token max tokens token limit max-length length size"
    " cap token-cap token-budget budget num-tokens n-tokens output-limit truncate maximum t m l",
    "--total": "budget limit tokens max-tokens token-limit size max",
    "--timeout": "time time-limit max-time wait deadline t",
    "--token-offset": "offset start skip from begin page cursor next next-offset position since",
    "--token-count": "count count-only count-tokens count-token wc only-count length size",
    "--keep head": "head first top beginning",
    "--keep tail": "tail last bottom end",
    "--keep ends": "ends middle both head-tail head-and-tail",
    "--output json": "json as-json json-output j",
    "--output jsonl": "jsonl ndjson json-lines",
    "--output text": "text plain plain-text",
    "--output": "format output-format out f",
    "--mode summary": "summary summarize digest",
    "--mode table": "table",
    "--mode raw": "raw",
    "--tokenizer": "encoding encoder vocab vocabulary tiktoken token-model",
    "--context-window": "window context-size context-length max-context ctx",
    "--session": "session-id session-name budget-name s",
    "--clean": "strip-ansi strip no-color no-colors no-ansi strip-colors plain",
    "--redact": "mask secrets redact-secrets hide-secrets no-secrets",
    "--spill always": "save keep-output",
    "--spill never": "no-save no-spill no-store no-cache",
    "--stderr merge": "merge merge-stderr combine 2>&1",
    "--stderr drop": "no-stderr ignore-stderr",
    "--fields": "field columns keys select columns-only",
    "--shape": "type content-type input-format payload",
    "--sentinel": "marker mark ellipsis suffix truncation-marker",
    "--pty": "tty interactive",
    "-c": "command cmd shell exec execute run sh e",
    "--grep": "pattern search regex filter match g",
    "--pointer": "path jq query json-pointer json-path",
    "--version": "v ver",
    "--help": "help usage",
}
# Names that other tools have for a command of a group, or for a value of an option.
OTHER_WORDS = {
    "list": "ls all",
    "rm": "remove delete del",
    "remove": "uninstall disable rm delete",
    "install": "add enable set setup",
    "uninstall": "remove rm delete",
    "gc": "clean cleanup prune purge",
    "path": "file where cat",
    "start": "new create begin open init",
    "end": "stop close finish delete rm remove",
    "status": "show get info",
    "record": "add charge use",
    "head": "first top start",
    "tail": "last end bottom",
    "ends": "middle both",
    "jsonl": "ndjson",
    "merge": "stdout combine",
    "drop": "none ignore null",
    "pass": "inherit",
    "never": "no off none false",
    "always": "yes on true",
}
# The names above are short and many, so they must match better than those of options.
LEAST_SIMILARITY = 0.85


def meaning_of(name: str, known: Sequence[str]) -> str:
    """Return `did you mean --token-limit?` for `--max-tokens`; empty if nothing is near."""
    plain = name.lower().replace("_", "-")
    first = plain.split()[0]
    if first in known:
        # In quotes, an option and its value are one word.
        return f"did you mean {first}, as a word of its own?" if first != plain else f"did you mean {plain}?"
    if owner := owner_of(plain, known):
        return owner
    meant = [*meanings(plain.lstrip("-"), known)]
    near = nearest(plain, known)
    # `--no-limit` does not mean a limit.
    if not meant and near and plain.startswith("--no-") == near.startswith("--no-"):
        meant = [near]
    if not meant:
        words = [word for guesses in GUESSES.values() for word in guesses.split() if len(word) > 2]
        meant = [*meanings(nearest(plain.lstrip("-"), words, LEAST_SIMILARITY), known)]
    return f"did you mean {' or '.join(meant)}?" if meant else ""


def meanings(word: str, known: Sequence[str]) -> Iterator[str]:
    """Yield what a guessed name may mean among the options of a command."""
    for meaning, guesses in GUESSES.items():
        # A shell string can be run wherever a command can.
        flag = "--timeout" if meaning == "-c" else meaning.partition(" ")[0]
        if word in guesses.split() and flag in known:
            yield meaning


def word_meant(word: str, known: Sequence[str]) -> str:
    """Return the command or the value that a word probably means; empty if none is near."""
    plain = word.lower()
    for meant, others in OTHER_WORDS.items():
        if meant in known and plain in others.split():
            return meant
    return nearest(plain, known)


def owner_of(name: str, known: Sequence[str]) -> str:
    """Return where an option belongs that only `tokcap` or only `tokcap show` takes."""
    if "--token-offset" not in known:
        return ""
    if name in options_by_flag("show"):
        return "it is an option of tokcap show"
    return "it works only when a command is run" if name in options_by_flag("run") else ""
