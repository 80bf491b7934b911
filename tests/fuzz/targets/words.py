"""Command lines: words of the command are handed on as they stand, and all that is raised is a refusal."""

from __future__ import annotations

import shlex

from tests.fuzz.target import Input, target
from tokcap.cli import shell_flags
from tokcap.cli.arguments import HelpWanted, Subcommand, VersionWanted, parse, wanted_output
from tokcap.cli.options import OPTIONS
from tokcap.core.request import Request, ShowRequest
from tokcap.environment import Environment
from tokcap.errors import UsageError
from tokcap.system import quoting, shell

# Words of a call are divided by NUL, as in /proc.
CALLS = [
    "\0".join(words).encode("utf-8", "surrogateescape")
    for words in (
        *((option.flag, "1", "--", "ls", option.flag) for option in OPTIONS),
        *((f"{option.flag}=true", "x") for option in OPTIONS),
        ("-n", "5", "-ojson", "--keep=tail", "ls", "-la"),
        ("-n5", "-c", "echo hi", "name", "arg"),
        ("-euo", "pipefail", "-c", "seq 5"),
        ("-lc", "--", "x"),
        ("show", "lake917365018@5", "--grep", "x", "--context", "2"),
        ("show", "@last", "--pointer", "/a/0", "--stream", "err"),
        ("--no-clean", "--no-redact", "--max-bytes", "1KiB", "--timeout", "1m", "cat"),
        ("--help",),
        ("-V",),
        ("--", "--", "show"),
        ("--sentinel", "", "\udcff", "-"),
    )
]


def words_of(payload: bytes) -> list[str]:
    return payload.decode("utf-8", "surrogateescape").split("\0")


@target(CALLS)
def arguments(given: Input) -> None:
    words = words_of(given.payload)
    variables = {
        "HOME": "/nowhere",
        **given.pick(0, ({}, {}, {"TOKCAP_OUTPUT": "json"}, {"TOKCAP_SHELL": "x"})),
    }
    env = Environment(variables)
    assert wanted_output(words, env) in ("text", "json", "jsonl")
    try:
        found = parse(words, env)
    except UsageError:
        return
    if isinstance(found, Request):
        handed_on = list(found.command)
        if words[len(words) - len(handed_on) :] != handed_on:
            # A string for a shell: flags of its own, then the words behind `-c`.
            named, *handed_on = handed_on
            assert named == variables.get("TOKCAP_SHELL", shell.DEFAULT_SHELL)
            string_at = next(at for at, word in enumerate(handed_on) if word[:1] == "-" and "c" in word)
            assert set(handed_on[: string_at + 1]) <= set(words)
            handed_on = handed_on[string_at + 1 :]
        assert words[len(words) - len(handed_on) :] == handed_on
    elif isinstance(found, ShowRequest):
        assert any(word == found.handle or word.startswith(f"{found.handle}@") for word in words)
    elif isinstance(found, Subcommand):
        assert list(found.arguments) == words[len(words) - len(found.arguments) :]
    else:
        assert isinstance(found, HelpWanted | VersionWanted)


@target(
    [
        b"echo hi",
        b"cd /tmp && ls -l | wc",
        b"a=1 env x 'y z' \"q $v\" \\$ > f 2>&1",
        b"if x; then y; fi",
        *CALLS,
    ]
)
def shell_words(given: Input) -> None:
    """What is quoted is read back, and reading the arguments of a shell never fails."""
    text = given.payload.decode("utf-8", "surrogateescape")
    words = text.split("\0")
    if "\0" not in text:
        assert shlex.split(quoting.always_quoted(text)) == [text]
    assert shlex.split(" ".join(map(quoting.quoted, words))) == words
    assert shell_flags.read_words(words).is_interactive(at_terminal=bool(given.knobs[0] % 2)) in (True, False)
    flags = shell_flags.take_flags(words)
    if flags:
        assert list(flags.flags) == words[: len(flags.flags)]
