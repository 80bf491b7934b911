# bash completion for tokcap

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
            -n | --token-limit | --token-offset | --keep | --align | --sentinel | --tokenizer | -o | --output | --shape | --fields | --mode | --stderr | --timeout | --kill-after | --spill | --max-bytes | --spill-days | --spill-total | --session | --turn | --model | --context-window | --result-pct | --turn-pct | --floor-tokens | --compact-hook) ((++i < last)) || option=${words[i - 1]} ;;
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
            -n?* | -o?*) option=${cur:0:2} prefix=${cur:0:2} cur=${cur:2} ;;
            -*) values='-n --token-limit --token-offset --token-count --no-token-count --keep --align --sentinel --exact-total --no-exact-total --tokenizer -o --output --shape --fields --mode --stderr --pty --no-pty --timeout --kill-after --kill-on-limit --no-kill-on-limit --clean --no-clean --spill --max-bytes --redact --no-redact --record-arguments --no-record-arguments --spill-days --spill-total --session --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-before-spill --no-compact-before-spill --compact-hook -h --help -V --version' ;;
            *) command=$last ;;
        esac
    fi

    # An option before a subcommand is refused: it can only be the first word.
    if ((command == 1 && last > 1)); then
        case ${words[1]} in
            show) command=0 && ((last > 2)) || values='@last --token-limit --token-offset --token-count --keep --align --sentinel --exact-total --tokenizer --output --shape --fields --mode --session --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-before-spill --compact-hook --stream --pointer --grep --context' ;;
            spill) command=0 && ((last > 2)) || values='list path rm gc' ;;
            budget) command=0 && ((last > 2)) || values='start status list record check turn compacted reset end' ;;
            doctor) command=0 && ((last > 2)) || values='--write-config --output' ;;
            hook) command=0 && ((last > 2)) || values='list install remove print' ;;
            manifest) command=0 && ((last > 2)) || values='' ;;
            completion) command=0 && ((last > 2)) || values='bash zsh fish' ;;
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
        ((last > 1)) || COMPREPLY+=($(compgen -W 'show spill budget doctor hook manifest completion' -- "$cur"))
        return
    fi

    case $option in
        --keep) values='head tail ends' ;;
        --align) values='record token' ;;
        --tokenizer) values='cl100k_base o200k_base approx' ;;
        -o | --output) values='text json jsonl' ;;
        --shape) values='auto text json jsonl csv tsv' ;;
        --mode) values='raw table summary handle_only' ;;
        --stderr) values='separate merge pass drop' ;;
        --spill) values='auto always never' ;;
    esac
    COMPREPLY=($(compgen -P "$prefix" -W "$values" -- "$cur"))
}

complete -F _tokcap tokcap
