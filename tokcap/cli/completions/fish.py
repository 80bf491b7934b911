"""The script for fish: one `complete` line for every option and position, with its condition."""

from __future__ import annotations

from tokcap.cli.completions.vocabulary import NOTHING, filled, offer_for
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcap.cli.completions.vocabulary import Offer, Vocabulary
    from tokcap.cli.description import Command, Flag

TEMPLATE = r"""# fish completion for tokcap

# Print the words of the wrapped command, but not the one at the cursor.
# Status 1: still among the options. Status 2: a string for the shell, which cannot be completed.
function __tokcap_command
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                string escape -- $words
                return 0
            case -c
                return 2
            case @valued@
                set -e words[1..2]
            case -
                break
            case '-*'
                string match -qr '^-[^-@letters@][^-]*c$' -- $words[1]
                and return 2
                set -e words[1]
            case '*'
                break
        end
    end
    set -q words[1]
    and string escape -- $words
end

function __tokcap_complete_command
    set -l words (__tokcap_command)
    switch $status
        case 1
            string match -q -- '-*' (commandline -ct)
            and return
        case 2
            return
    end
    complete --do-complete=(string join -- ' ' $words (commandline -ct))
end

function __tokcap_in_options
    __tokcap_command >/dev/null
    test $status -eq 1
end

# Whether the words before the cursor are tokcap and these words, without options.
function __tokcap_after
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end

# Whether the command line is for this subcommand.
function __tokcap_in
    set -l words (commandline -opc)
    set -l end (math 1 + (count $argv))
    test "$words[2..$end]" = "$argv"
end

# Whether the cursor is at this argument (by number) of this subcommand.
function __tokcap_place
    __tokcap_in $argv[2..]
    or return
    set -l words (commandline -opc)
    set -e words[1..(count $argv)]
    set -l count 0
    set -l ended
    while set -q words[1]
        if set -q ended[1]; or not string match -q -- '-?*' $words[1]
            set count (math $count + 1)
        else if test $words[1] = --
            set ended yes
        else if contains -- $words[1] @valued@
            set -e words[1]
        end
        set -e words[1]
    end
    test $count = $argv[1]
end

# Names that only tokcap knows, the latest first. On errors it prints nothing.
function __tokcap_list
    # The word may be an option. If its value is attached, a name is completed.
    string match -qr '^-[^=]*$' -- (commandline -ct)
    and return
    set -l program (string replace -r '^~/' "$HOME/" -- (commandline -opc)[1])
    # Use env: if a program cannot be started, fish itself writes to the terminal in spite of redirection.
    command env $program completion --list $argv 2>/dev/null </dev/null
end

complete -c tokcap -f
@flags@
# Options before a subcommand are refused, so a subcommand can only be the first word.
@names@
@subcommands@
complete -c tokcap -n 'not contains -- (commandline -opc)[2] @first@' -a '(__tokcap_complete_command)'
"""


def script(vocabulary: Vocabulary) -> str:
    first = vocabulary.below()
    parents = [command.path for command in vocabulary.parents]
    names = [
        f"complete -c tokcap -n {quoted(' '.join(('__tokcap_after', *path)))} -a {word} -d {quoted(summary)}"
        for path in ((), *((group.name,) for group in vocabulary.groups), *parents)
        for word, summary in vocabulary.below(*path).items()
    ]
    return filled(
        TEMPLATE,
        valued=" ".join(vocabulary.valued()),
        letters="".join(vocabulary.valued_letters()),
        flags="\n".join(flag_line(flag, "__tokcap_in_options") for flag in vocabulary.wrapper.flags),
        names="\n".join(names),
        subcommands="\n".join(
            line
            for command in vocabulary.subcommands
            for line in lines_of(command, vocabulary.below(*command.path))
        ),
        first=" ".join(first),
    )


def lines_of(command: Command, below: Iterable[str]) -> Iterator[str]:
    """Return the lines for the options and arguments of one subcommand, but not for commands below it."""
    path = " ".join(command.path)
    others = "".join(f"; and not __tokcap_in {path} {word}" for word in below)
    for flag in command.flags:
        yield flag_line(flag, f"__tokcap_in {path}{others}")
    for place, argument in enumerate(command.arguments):
        offer = offer_for(argument)
        if offer != NOTHING:
            where = f"__tokcap_in {path}" if argument.repeatable else f"__tokcap_place {place} {path}"
            yield f"complete -c tokcap -n {quoted(where)} {action(offer, '(commandline -ct)')}"


def flag_line(flag: Flag, condition: str) -> str:
    """Return the line of one option, and of its negation if it has one."""
    names = [f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in flag.spellings]
    start = f"complete -c tokcap -n {quoted(condition)}"
    offer = offer_for(flag)
    if flag.expected:
        names += ["-r" if offer.files else "-x"]
    if offer != NOTHING:
        names += [action(offer)]
    line = f"{start} {' '.join(names)} -d {quoted(flag.help)}"
    if not flag.negation:
        return line
    turned_off = f"turn {flag.spellings[-1]} off"
    return f"{line}\n{start} -l {flag.negation[2:]} -d {quoted(turned_off)}"


def action(offer: Offer, beginning: str = "") -> str:
    if offer.files:
        return "-F"
    if offer.listed:
        return f"-k -a {quoted(f'(__tokcap_list {offer.listed} {beginning})'.replace(' )', ')'))}"
    return f"-a {quoted(' '.join(offer.words))}"


def quoted(text: str) -> str:
    """Quote a word for fish. In single quotes, a backslash escapes only a quote or a backslash."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    plain = text.replace("_", "").replace("-", "").isalnum() and text.isascii()
    return text if plain else f"'{escaped}'"
