"""Completion scripts: the name of a shell in, a static script made from the grammar table out.

The scripts never call tokcap: a TAB must not wait for Python. Behind tokcap's own options they leave
the line to the completion of the wrapped command.
"""

from __future__ import annotations

from tokcap.options import AVAILABLE, Choice, Switch, options_of
from tokcap.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal, TypeAlias

    from tokcap.options import Option

    Shell: TypeAlias = Literal["bash", "zsh", "fish"]

SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")

# Any name may follow --tokenizer; these work everywhere, without network and plug-ins.
TOKENIZERS = ("cl100k_base", "o200k_base", "approx")

# What may follow each subcommand of this version.
FIRST_WORDS = {
    "show": ("@last", *(option.flag for option in options_of("show"))),
    "spill": ("list", "path", "rm", "gc"),
    "budget": ("start", "status", "list", "record", "check", "turn", "compacted", "reset", "end"),
    "doctor": ("--write-config", "--output"),
    "hook": ("list", "install", "remove", "print"),
    "completion": SHELLS,
}
WORDS_AFTER = {name: FIRST_WORDS.get(name, ()) for name in AVAILABLE}

BASH = r"""# bash completion for tokcap

_tokcap() {
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT}
    local words=() starts=() last=-1 i

    # Bash also splits at `=` and `:`. Here a word is what stands between blanks.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if ((last < 0)) || [[ $line == [[:space:]]* ]]; then
            starts[++last]=$i
        fi
        if ((i < COMP_CWORD)); then
            words[last]+=${COMP_WORDS[i]}
            line=${line#*"${COMP_WORDS[i]}"}
        else
            # Only up to the cursor.
            words[last]+=${line#"${line%%[![:space:]]*}"}
        fi
    done

    # Find the word that begins the command, or the option that awaits its value.
    local option='' command=0
    for ((i = 1; i < last; i++)); do
        case ${words[i]} in
            --) command=$((i + 1)) && break ;;
            @valued@) ((++i < last)) || option=${words[i - 1]} ;;
            -?*) ;;
            *) command=$i && break ;;
        esac
    done

    local cur=${words[last]} prefix='' values=''
    if ((!command)) && [[ ! $option ]]; then
        case $cur in
            --*=*)
                option=${cur%%=*} cur=${cur#*=}
                # Readline replaces only what stands behind a character of COMP_WORDBREAKS.
                [[ $COMP_WORDBREAKS == *=* ]] || prefix=$option=
                ;;
            @attached@) option=${cur:0:2} prefix=${cur:0:2} cur=${cur:2} ;;
            -*) values='@flags@' ;;
            *) command=$last ;;
        esac
    fi

    # An option before a subcommand is refused: it can only be the first word.
    if ((command == 1 && last > 1)); then
        case ${words[1]} in
            @subcommands@
        esac
    fi

    COMPREPLY=()
    if ((command)); then
        if declare -F _comp_command_offset >/dev/null; then
            _comp_command_offset "${starts[command]}"
        elif declare -F _command_offset >/dev/null; then
            _command_offset "${starts[command]}"
        elif ((command == last)); then
            compopt -o filenames
            COMPREPLY=($(compgen -c -- "$cur"))
        else
            compopt -o bashdefault -o default
        fi
        ((last > 1)) || COMPREPLY+=($(compgen -W '@names@' -- "$cur"))
        return
    fi

    case $option in
        @values@
    esac
    COMPREPLY=($(compgen -P "$prefix" -W "$values" -- "$cur"))
}

complete -F _tokcap tokcap
"""

ZSH = r"""#compdef tokcap

_tokcap() {
    local curcontext=$curcontext state line expl ret=1
    local -A opt_args
    # An option before a subcommand is refused: it can only be the first word.
    local -i first=$((CURRENT == 2))

    if ((!first)); then
        case $words[2] in
            @subcommands@
        esac
    fi

    # -S: `--` ends the options; -A: so does the first word that is none.
    _arguments -C -S -A '-*' : \
        @flags@
        '*:: :->command' && ret=0

    if [[ $state == command ]]; then
        # With no option before it, `--` is still there.
        if [[ $CURRENT -gt 1 && $words[1] == -- ]]; then
            shift words
            ((CURRENT--))
        fi
        # To a lenient matcher, `-` begins every command with a dash in its name.
        [[ $CURRENT -eq 1 && $PREFIX == -* ]] && return ret
        ((first)) && _wanted subcommands expl subcommand compadd @names@ && ret=0
        _normal -p tokcap && ret=0
    fi
    return ret
}

# Autoloaded from $fpath, this file is the body of the function; else it is being sourced.
if [[ $funcstack[1] == _tokcap ]]; then
    _tokcap "$@"
else
    compdef _tokcap tokcap
fi
"""

FISH = r"""# fish completion for tokcap

# Print the words from the command on, but not the one at the cursor; fail where the options go on.
function __tokcap_command
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                string escape -- $words
                return 0
            case @valued@
                set -e words[1..2]
            case -
                break
            case '-*'
                set -e words[1]
            case '*'
                break
        end
    end
    set -q words[1]
    and string escape -- $words
end

function __tokcap_complete_command
    if not set -l words (__tokcap_command)
        and string match -q -- '-*' (commandline -ct)
        return
    end
    complete --do-complete=(string join -- ' ' $words (commandline -ct))
end

function __tokcap_in_options
    not __tokcap_command >/dev/null
end

# Whether the words before the cursor are tokcap and these, no option among them.
function __tokcap_behind
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end

complete -c tokcap -f
@flags@
# An option before a subcommand is refused: it can only be the first word.
complete -c tokcap -n __tokcap_behind -a '@names@' -d subcommand
@subcommands@
complete -c tokcap -n 'not contains -- (commandline -opc)[2] @names@' -a '(__tokcap_complete_command)'
"""


def script_for(shell: Shell) -> str:
    """The completion script of one shell."""
    return {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[shell]()


class Flag(Record):
    """One thing to complete, as all three shells see it."""

    spellings: tuple[str, ...]
    help: str
    # What must follow, in words; empty where nothing does.
    expected: str = ""
    suggested: tuple[str, ...] = ()


def flags() -> Iterator[Flag]:
    """All flags in the order of the table, then those that every program has."""
    for option in options_of("run"):
        spellings = (f"-{option.short}", option.flag) if option.short else (option.flag,)
        if isinstance(option.kind, Switch):
            yield Flag(spellings, option.help)
            yield Flag((f"--no-{option.name}",), f"turn {option.flag} off again")
        else:
            yield Flag(spellings, option.help, option.kind.expected, suggested(option))
    yield Flag(("-h", "--help"), "show all options")
    yield Flag(("-V", "--version"), "show the version")


def suggested(option: Option) -> tuple[str, ...]:
    if isinstance(option.kind, Choice):
        return option.kind.words
    return TOKENIZERS if option.name == "tokenizer" else ()


def valued() -> Sequence[str]:
    """Spellings of the flags whose value may be the next word."""
    return [spelling for flag in flags() if flag.expected for spelling in flag.spellings]


def bash_script() -> str:
    return filled(
        BASH,
        valued=" | ".join(valued()),
        attached=" | ".join(f"{spelling}?*" for spelling in valued() if len(spelling) == 2),
        flags=" ".join(spelling for flag in flags() for spelling in flag.spellings),
        names=" ".join(WORDS_AFTER),
        subcommands="\n".join(
            f"{name}) command=0 && ((last > 2)) || values='{' '.join(words)}' ;;"
            for name, words in WORDS_AFTER.items()
        ),
        values="\n".join(
            f"{' | '.join(flag.spellings)}) values='{' '.join(flag.suggested)}' ;;"
            for flag in flags()
            if flag.suggested
        ),
    )


def zsh_script() -> str:
    return filled(
        ZSH,
        flags="\n".join(f"{spec} \\" for flag in flags() for spec in zsh_specs(flag)),
        names=" ".join(WORDS_AFTER),
        subcommands="\n".join(
            f"{name}) ((CURRENT == 3)) && _wanted words expl word compadd {' '.join(words)}; return ;;"
            for name, words in WORDS_AFTER.items()
        ),
    )


def zsh_specs(flag: Flag) -> Iterator[str]:
    """One flag in the language of `_arguments`, once per spelling."""
    import shlex

    # A blank as action: a value is needed, and nothing can be suggested.
    action = f"({' '.join(flag.suggested)})" if flag.suggested else " "
    value = f":{zsh_escaped(flag.expected)}:{action}" if flag.expected else ""
    excluded = f"({' '.join(flag.spellings)})" if len(flag.spellings) > 1 else ""
    for spelling in flag.spellings:
        # The value may be the next word, or be attached: to a letter as it is, to a name with `=`.
        attached = "" if not value else "=" if spelling.startswith("--") else "+"
        yield shlex.quote(f"{excluded}{spelling}{attached}[{zsh_escaped(flag.help)}]{value}")


def zsh_escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\[]:" else character for character in text)


def fish_script() -> str:
    return filled(
        FISH,
        valued=" ".join(valued()),
        flags="\n".join(fish_flag(flag) for flag in flags()),
        names=" ".join(WORDS_AFTER),
        subcommands="\n".join(
            f"complete -c tokcap -n '__tokcap_behind {name}' -a '{' '.join(words)}'"
            for name, words in WORDS_AFTER.items()
        ),
    )


def fish_flag(flag: Flag) -> str:
    import shlex

    parts = ["complete -c tokcap -n __tokcap_in_options"]
    parts += [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.spellings]
    if flag.expected:
        parts.append("-x")
    if flag.suggested:
        parts.append(f"-a '{' '.join(flag.suggested)}'")
    return " ".join([*parts, "-d", shlex.quote(flag.help)])


def filled(template: str, **parts: str) -> str:
    """A template with its @names@ replaced; further lines of a part are indented as its first."""
    lines = []
    for line in template.split("\n"):
        indent = "\n" + line[: len(line) - len(line.lstrip())]
        for name, part in parts.items():
            line = line.replace(f"@{name}@", part.replace("\n", indent))
        lines.append(line)
    return "\n".join(lines)
