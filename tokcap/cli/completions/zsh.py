"""The script for zsh: one call of `_arguments` for every command."""

from __future__ import annotations

import shlex

from tokcap.cli.catalog import STRING
from tokcap.cli.completions.vocabulary import NOTHING, filled, offer_for, spellings_of
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokcap.cli.completions.vocabulary import Offer, Spelling, Vocabulary
    from tokcap.cli.description import Argument, Command

TEMPLATE = r"""#compdef tokcap

# Names that only tokcap knows, the latest first. On errors it prints nothing.
_tokcap_list() {
    # The word may be an option.
    [[ $PREFIX == -* ]] && return 1
    local line name
    local -a call described
    call=(${${(Q)program}/#\~\//$HOME/} completion --list $1 ${(Q)PREFIX})
    for line in ${(f)"$(command $call 2>/dev/null </dev/null)"}; do
        name=${line%%$'\t'*}
        described+=("${${name//\\/\\\\}//:/\\:}:${line#*$'\t'}")
    done
    _describe -V -t $1 ${1%s} described
}

_tokcap_subcommand() {
    local -a below
    case $1 in
        @subcommands@
    esac
}

_tokcap() {
    local curcontext=$curcontext state line expl program=$words[1] ret=1
    local -A opt_args
    local -a below typed=("$words[@]")
    local string='-[^-@letters@]*c'
    # Options before a subcommand are refused, so a subcommand can only be the first word.
    local -i first=$((CURRENT == 2))

    if ((!first)) && [[ " @names@ " == *" $words[2] "* ]]; then
        shift words
        ((CURRENT--))
        _tokcap_subcommand $words[1]
        return
    fi

    # -S: `--` ends the options; -A: so does the first word that is not an option.
    _arguments -C -S -A '-*' : \
        @flags@
        '*:: :->command' && ret=0

    if [[ $state == command ]]; then
        # Without an option before it, `--` is still there.
        if [[ $CURRENT -gt 1 && $words[1] == -- ]]; then
            shift words
            ((CURRENT--))
        fi
        # Shell flags that end in `-c`: the words that follow belong to the shell.
        [[ $words[1] == ${~string} || $typed[-$#words-1] == ${~string} ]] && return ret
        # A lenient matcher would complete `-` to any command with a dash in its name.
        [[ $CURRENT -eq 1 && $PREFIX == -* ]] && return ret
        if ((first)); then
            below=(
                @below@
            )
            _describe -t subcommands subcommand below && ret=0
        fi
        _normal -p tokcap && ret=0
    fi
    return ret
}

# If autoloaded from $fpath, this file is the body of the function; otherwise it is sourced.
if [[ $funcstack[1] == _tokcap ]]; then
    _tokcap "$@"
else
    compdef _tokcap tokcap
fi
"""

GROUP = r"""@name@)
    if ((CURRENT == 2)); then
        below=(
            @below@
        )
        _describe -t subcommands subcommand below
    else
        shift words
        ((CURRENT--))
        _tokcap_subcommand "@name@ $words[1]"
    fi
    ;;"""


PARENT = r"""@name@)
    if ((CURRENT > 2)) && [[ " @words@ " == *" $words[2] "* ]]; then
        shift words
        ((CURRENT--))
        _tokcap_subcommand "@name@ $words[1]"
    else
        if ((CURRENT == 2)); then
            below=(
                @below@
            )
            _describe -t subcommands subcommand below
        fi
        @arguments@
    fi
    ;;"""


def script(vocabulary: Vocabulary) -> str:
    subcommands = [
        filled(GROUP, name=group.name, below=described(vocabulary.below(group.name)))
        for group in vocabulary.groups
    ]
    subcommands += [
        parent_branch_of(command, vocabulary.below(*command.path))
        if command in vocabulary.parents
        else branch_of(command)
        for command in vocabulary.subcommands
    ]
    return filled(
        TEMPLATE,
        subcommands="\n".join(subcommands),
        names=" ".join(vocabulary.below()),
        below=described(vocabulary.below()),
        letters="".join(vocabulary.valued_letters()),
        flags="\n".join(f"{spec} \\" for spec in flag_specs(vocabulary.wrapper)),
    )


def described(below: Mapping[str, str]) -> str:
    """Return words with what they do, as `_describe` takes them."""
    return "\n".join(shlex.quote(f"{word}:{summary}") for word, summary in below.items())


def branch_of(command: Command) -> str:
    """Return the case of one subcommand."""
    return f"{shlex.quote(' '.join(command.path))})\n    {arguments_of(command)}\n    ;;"


def parent_branch_of(command: Command, below: Mapping[str, str]) -> str:
    """Return the case of a subcommand that has others below it."""
    return filled(
        PARENT,
        name=" ".join(command.path),
        words=" ".join(below),
        below=described(below),
        arguments=arguments_of(command),
    )


def arguments_of(command: Command) -> str:
    """Return the call that completes the options and arguments of one subcommand."""
    specs = [*flag_specs(command), *argument_specs(command)]
    return " \\\n        ".join(["_arguments -S :", *specs])


def flag_specs(command: Command) -> Iterator[str]:
    """Return the options of a command as `_arguments` takes them, one per spelling."""
    for spelling in spellings_of(command):
        if spelling.flag is STRING:
            # All words that follow belong to the shell.
            yield shlex.quote(f"(-)-c[{escaped(spelling.help)}]:{escaped(spelling.flag.expected)}: :*:: : ")
        else:
            yield flag_spec(spelling)


def flag_spec(spelling: Spelling) -> str:
    flag = spelling.flag
    others = f"({' '.join(flag.spellings)})" if len(flag.spellings) > 1 else ""
    # A value may be the next word, or be attached: directly to a letter, with `=` to a name.
    attached = "" if not spelling.valued else "=" if spelling.word.startswith("--") else "+"
    value = f":{escaped(flag.expected)}:{action(offer_for(flag))}" if spelling.valued else ""
    return shlex.quote(f"{others}{spelling.word}{attached}[{escaped(spelling.help)}]{value}")


def argument_specs(command: Command) -> Iterator[str]:
    for argument in command.arguments:
        place = "*" if argument.repeatable else "" if argument.required else ":"
        yield shlex.quote(f"{place}:{message(argument)}:{action(offer_for(argument))}")


def message(argument: Argument) -> str:
    return escaped(argument.metavar.lower())


def action(offer: Offer) -> str:
    if offer == NOTHING:
        # A blank means: a value is needed, and nothing can be suggested.
        return " "
    if offer.files:
        return "_files"
    # Without the blank, zsh would pass it options for `compadd`.
    return f" _tokcap_list {offer.listed}" if offer.listed else f"({' '.join(offer.words)})"


def escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\[]:" else character for character in text)
