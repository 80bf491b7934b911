# bash completion for tokcap, which answers itself what can follow

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

# Complete the command that begins at a word as if tokcap were not there.
_tokcap_wrapped() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${starts[$1]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    elif (($1 == last)); then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -c -- "${words[last]}"))
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
    for word in "${offered[@]}"; do
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
    local words=() starts=() typed=() offered=() last=-1 piece='' plain quote kind argument name kept i
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
    for ((i = 1; i <= last; i++)); do
        _tokcap_unquote "${words[i]}"
        typed+=("$plain")
    done

    {
        read -r kind argument
        while IFS=$'\t' read -r name _; do
            [[ ! $name ]] || offered+=("$name")
        done
    } <<<"$(command "${words[0]/#\~\//$HOME/}" completion words -- "${typed[@]}" 2>/dev/null </dev/null)"

    case $kind in
        command) _tokcap_wrapped "$argument" ;;
        files) compopt -o default 2>/dev/null ;;
        # The latest first. Older shells always sort.
        *) compopt -o nosort 2>/dev/null ;;
    esac

    # Readline replaces only the text after the last word break character; `@` is replaced too.
    kept=${words[last]%"$piece"}
    kept=${kept%@}
    if [[ $piece == [=:] && $COMP_WORDBREAKS == *"$piece"* ]]; then
        kept=${words[last]}
    fi
    _tokcap_reply "$kept" "${words[last]}"
}

complete -F _tokcap tokcap
