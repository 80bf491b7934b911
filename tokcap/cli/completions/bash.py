"""The script for bash: walk along the line, then look up words by command, option and position."""

from __future__ import annotations

import shlex

from tokcap.cli.completions.vocabulary import NOTHING, filled, offer_for, spellings_of
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.cli.completions.vocabulary import Offer, Vocabulary
    from tokcap.cli.description import Command

TEMPLATE = r"""# bash completion for tokcap

# What can follow a command: names of subcommands, options, and which of them take a value.
_tokcap_words() {
    below='' flags='' valued=''
    case $1 in
        @commands@
    esac
}

# What can be the value of an option (`show --keep`) or an argument (`spill path 0`).
_tokcap_offer() {
    case $1 in
        @offers@
    esac
}

# Names that only tokcap knows. On errors it prints nothing.
_tokcap_list() {
    local name plain quote
    _tokcap_unquote "$2"
    while IFS=$'\t' read -r name _; do
        [[ ! $name ]] || offered+=("$name")
    done <<<"$(command "${words[0]/#\~\//$HOME/}" completion --list "$1" "$plain" 2>/dev/null </dev/null)"
    # The latest first. Older shells always sort.
    compopt -o nosort 2>/dev/null
}

# A word without its quotes, and the quote that is still open in it.
_tokcap_unquote() {
    local i character
    plain='' quote=''
    for ((i = 0; i < ${#1}; i++)); do
        character=${1:i:1}
        case $quote$character in
            \\ | \"\\) plain+=${1:$((++i)):1} ;;
            \' | \") quote=$character ;;
            \'\' | \"\") quote='' ;;
            *) plain+=$character ;;
        esac
    done
}

# Whether a word is `-c`, or shell flags that end in it: the words that follow belong to the shell.
_tokcap_begins_string() {
    [[ $1 == -c || ($1 == -[!-]*c && " $valued " != *" ${1:0:2} "*) ]]
}

# Complete the command that begins at a word as if tokcap were not there.
_tokcap_wrapped() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${starts[$1]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    elif (($1 == last)); then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -c -- "$cur"))
    else
        compopt -o bashdefault -o default 2>/dev/null
    fi
}

# Reply with the words that continue what is typed, quoted in the same way.
_tokcap_reply() {
    local word rest plain quote kept
    _tokcap_unquote "$1"
    kept=$plain
    _tokcap_unquote "$2"
    for word in "${offered[@]/#/$lead}"; do
        if [[ $word == "$plain"* ]]; then
            rest=${word#"$kept"}
            case $quote in
                \') rest=${rest//\'/\'\\\'\'} ;;
                \") rest=${rest//\\/\\\\} rest=${rest//\"/\\\"} rest=${rest//\$/\\\$} rest=${rest//\`/\\\`} ;;
                *) printf -v rest %q "$rest" ;;
            esac
            COMPREPLY+=("$rest")
        fi
    done
}

_tokcap() {
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT}
    local words=() starts=() last=-1 piece='' i
    COMPREPLY=()

    # Bash also splits at `=` and `:`. Here words are separated by blanks only.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if ((last < 0)) || [[ $line == [[:space:]]* ]]; then
            starts[++last]=$i
        fi
        if ((i < COMP_CWORD)); then
            words[last]+=${COMP_WORDS[i]}
            line=${line#*"${COMP_WORDS[i]}"}
        else
            # Only up to the cursor.
            piece=${line#"${line%%[![:space:]]*}"}
            words[last]+=$piece
        fi
    done

    # Options before a subcommand are refused, so a subcommand can only be the first word.
    local below flags valued path='' at=1
    _tokcap_words ''
    while ((at < last)) && [[ " $below " == *" ${words[at]} "* ]]; do
        path+=${path:+ }${words[at++]}
        _tokcap_words "$path"
    done

    # Find the word that begins the wrapped command, the option that needs a value, or the position.
    local option='' command=0 place=0 ended=''
    for ((i = at; i < last; i++)); do
        if [[ $ended || ${words[i]} != -?* ]]; then
            if [[ ! $path ]]; then
                command=$i
                break
            fi
            ((++place))
        elif [[ ${words[i]} == -- ]]; then
            ended=yes
        elif [[ ! $path ]] && _tokcap_begins_string "${words[i]}"; then
            return
        elif [[ " $valued " == *" ${words[i]} "* ]]; then
            ((++i < last)) || option=${words[i - 1]}
        fi
    done

    local cur=${words[last]} offered=() lead='' kept
    if [[ $option ]]; then
        _tokcap_offer "$path $option" "$cur"
    elif ((command)); then
        _tokcap_wrapped "$command"
    elif [[ ! $ended && $cur == --*=* ]]; then
        lead=${cur%%=*}=
        _tokcap_offer "$path ${cur%%=*}" "${cur#*=}"
    elif [[ ! $ended && $cur == -[!-]?* && " $valued " == *" ${cur:0:2} "* ]]; then
        lead=${cur:0:2}
        _tokcap_offer "$path $lead" "${cur:2}"
    elif [[ ! $ended && $cur == -* ]]; then
        offered=($flags)
    elif [[ ! $path ]]; then
        _tokcap_wrapped "$last"
        ((last > 1)) || offered=($below)
    elif [[ ! $below ]]; then
        _tokcap_offer "$path $place" "$cur"
    elif ((at == last)); then
        offered=($below)
    fi

    # Readline replaces only the text after the last word break character; `@` is replaced too.
    kept=${cur%"$piece"}
    kept=${kept%@}
    if [[ $piece == [=:] && $COMP_WORDBREAKS == *"$piece"* ]]; then
        kept=$cur
    fi
    _tokcap_reply "$kept" "$cur"
}

complete -F _tokcap tokcap
"""


def script(vocabulary: Vocabulary) -> str:
    commands = [described(command, vocabulary.below(*command.path)) for command in vocabulary.commands]
    groups = [
        f"{group.name}) below='{' '.join(vocabulary.below(group.name))}' flags='-h --help' ;;"
        for group in vocabulary.groups
    ]
    return filled(TEMPLATE, commands="\n".join([*commands, *groups]), offers="\n".join(offers(vocabulary)))


def described(command: Command, below: Iterable[str]) -> str:
    """Return what can follow one command."""
    spellings = list(spellings_of(command))
    parts = {
        "below": below,
        "flags": [spelling.word for spelling in spellings],
        "valued": [spelling.word for spelling in spellings if spelling.valued],
    }
    settings = [f"{name}='{' '.join(words)}'" for name, words in parts.items() if words]
    return "\n    ".join([f"{shlex.quote(' '.join(command.path))})", *settings, ";;"])


def offers(vocabulary: Vocabulary) -> Iterable[str]:
    """Return what can be suggested, each with all positions where it is."""
    places: dict[Offer, list[str]] = {}
    for command in vocabulary.commands:
        path = " ".join(command.path)
        for spelling in spellings_of(command):
            if spelling.valued:
                places.setdefault(offer_for(spelling.flag), []).append(f"'{path} {spelling.word}'")
        for place, argument in enumerate(command.arguments if path else ()):
            where = f"'{path} '[0-9]*" if argument.repeatable else f"'{path} {place}'"
            places.setdefault(offer_for(argument), []).append(where)
    places.pop(NOTHING, None)
    for offer, wheres in places.items():
        yield " | ".join(wheres) + f") {action(offer)} ;;"


def action(offer: Offer) -> str:
    if offer.files:
        return "compopt -o default 2>/dev/null"
    if offer.listed:
        return f'_tokcap_list {offer.listed} "$2"'
    return f"offered=({' '.join(map(shlex.quote, offer.words))})"
