# bash completion for tokcap

# What can follow a command: names of subcommands, options, and which of them take a value.
_tokcap_words() {
    below='' flags='' valued=''
    case $1 in
        '')
            below='show budget completion count doctor hook manifest mcp spill stats tokenizer'
            flags='-n --token-limit --token-offset --token-count --no-token-count --keep --focus --align --sentinel --exact-total --no-exact-total --tokenizer -o --output --shape --fields --mode --stderr --pty --no-pty --timeout --kill-after --kill-on-limit --no-kill-on-limit --clean --no-clean --spill --max-bytes --redact --no-redact --record-arguments --no-record-arguments --spill-days --spill-total --store --account --no-account --session --ledger --ledger-file --on-ledger-failure --repeat --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-before-spill --no-compact-before-spill --compact-hook -c -h --help -V --version'
            valued='-n --token-limit --token-offset --keep --focus --align --sentinel --tokenizer -o --output --shape --fields --mode --stderr --timeout --kill-after --spill --max-bytes --spill-days --spill-total --store --session --ledger --ledger-file --on-ledger-failure --repeat --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook -c'
            ;;
        show)
            flags='--stream --pointer --grep --context -n --token-limit --token-offset --token-count --no-token-count --keep --focus --align --sentinel --exact-total --no-exact-total --tokenizer -o --output --shape --fields --mode --clean --no-clean --store --account --no-account --session --ledger --ledger-file --on-ledger-failure --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-before-spill --no-compact-before-spill --compact-hook -h --help'
            valued='--stream --pointer --grep --context -n --token-limit --token-offset --keep --focus --align --sentinel --tokenizer -o --output --shape --fields --mode --store --session --ledger --ledger-file --on-ledger-failure --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook'
            ;;
        'budget check')
            flags='--need --session --ledger -o --output -h --help'
            valued='--need --session --ledger -o --output'
            ;;
        'budget compacted')
            flags='--used --session --ledger -o --output -h --help'
            valued='--used --session --ledger -o --output'
            ;;
        'budget end')
            flags='--tree --session --ledger -o --output -h --help'
            valued='--session --ledger -o --output'
            ;;
        'budget history')
            flags='--ledger -o --output -h --help'
            valued='--ledger -o --output'
            ;;
        'budget list')
            flags='--tree --ledger -o --output -h --help'
            valued='--ledger -o --output'
            ;;
        'budget record')
            flags='--input --output --id --session --ledger -o -h --help'
            valued='--input --output --id --session --ledger -o'
            ;;
        'budget reset')
            flags='--session --ledger -o --output -h --help'
            valued='--session --ledger -o --output'
            ;;
        'budget start')
            flags='--total --parent --renew --context-window --model --result-pct --turn-pct --floor-tokens --shell --session --ledger -o --output -h --help'
            valued='--total --parent --renew --context-window --model --result-pct --turn-pct --floor-tokens --shell --session --ledger -o --output'
            ;;
        'budget status')
            flags='--session --ledger -o --output -h --help'
            valued='--session --ledger -o --output'
            ;;
        'budget turn')
            flags='--shell --session --ledger -o --output -h --help'
            valued='--shell --session --ledger -o --output'
            ;;
        'budget watch')
            flags='--every --once --ledger -o --output -h --help'
            valued='--every --ledger -o --output'
            ;;
        'completion bash')
            flags='-h --help'
            ;;
        'completion fish')
            flags='-h --help'
            ;;
        'completion install')
            flags='-h --help'
            ;;
        'completion uninstall')
            flags='-h --help'
            ;;
        'completion zsh')
            flags='-h --help'
            ;;
        count)
            flags='--tokenizer --model -o --output -h --help'
            valued='--tokenizer --model -o --output'
            ;;
        doctor)
            flags='--problems --write-config -o --output -h --help'
            valued='-o --output'
            ;;
        'hook install')
            flags='-n --token-limit --keep --repeat --session --tokenizer --model --tools --project -h --help'
            valued='-n --token-limit --keep --repeat --session --tokenizer --model --tools'
            ;;
        'hook list')
            flags='-h --help'
            ;;
        'hook print')
            flags='-n --token-limit --keep --repeat --session --tokenizer --model --tools --project -h --help'
            valued='-n --token-limit --keep --repeat --session --tokenizer --model --tools'
            ;;
        'hook print-env')
            flags='-h --help'
            ;;
        'hook remove')
            flags='--project -h --help'
            ;;
        'hook status')
            flags='-h --help'
            ;;
        'hook test')
            flags='--agent -h --help'
            valued='--agent'
            ;;
        manifest)
            flags='--etag -o --output -h --help'
            valued='--etag -o --output'
            ;;
        mcp)
            below='wrap'
            flags='-n --token-limit --keep --session --total --tokenizer --structured -h --help'
            valued='-n --token-limit --keep --session --total --tokenizer'
            ;;
        'mcp wrap')
            flags='-n --token-limit --keep --session --total --tokenizer --clean --redact --url --header -h --help'
            valued='-n --token-limit --keep --session --total --tokenizer --url --header'
            ;;
        'spill gc')
            flags='--shared --store -o --output -h --help'
            valued='--store -o --output'
            ;;
        'spill list')
            flags='--shared --store -o --output -h --help'
            valued='--store -o --output'
            ;;
        'spill path')
            flags='--stream --store -o --output -h --help'
            valued='--stream --store -o --output'
            ;;
        'spill rm')
            flags='--all --shared --store -o --output -h --help'
            valued='--store -o --output'
            ;;
        stats)
            flags='--by --since --plot -o --output -h --help'
            valued='--by --since --plot -o --output'
            ;;
        'tokenizer add')
            flags='--pre-split --slow -o --output -h --help'
            valued='--pre-split -o --output'
            ;;
        'tokenizer calibrate')
            flags='--counter --texts --timeout -o --output -h --help'
            valued='--counter --texts --timeout -o --output'
            ;;
        'tokenizer check')
            flags='--source -o --output -h --help'
            valued='--source -o --output'
            ;;
        'tokenizer list')
            flags='-o --output -h --help'
            valued='-o --output'
            ;;
        'tokenizer remove')
            flags='-o --output -h --help'
            valued='-o --output'
            ;;
        'tokenizer show')
            flags='-o --output -h --help'
            valued='-o --output'
            ;;
        spill) below='gc list path rm' flags='-h --help' ;;
        budget) below='check compacted end history list record reset start status turn watch' flags='-h --help' ;;
        tokenizer) below='add calibrate check list remove show' flags='-h --help' ;;
        hook) below='install list print print-env remove status test' flags='-h --help' ;;
        completion) below='bash fish install uninstall zsh' flags='-h --help' ;;
    esac
}

# What can be the value of an option (`show --keep`) or an argument (`spill path 0`).
_tokcap_offer() {
    case $1 in
        ' --keep' | 'show --keep' | 'hook install --keep' | 'hook print --keep' | 'mcp --keep' | 'mcp wrap --keep') offered=(head tail ends focus auto) ;;
        ' --align' | 'show --align') offered=(record token) ;;
        ' --tokenizer' | 'show --tokenizer' | 'count --tokenizer' | 'hook install --tokenizer' | 'hook print --tokenizer' | 'mcp --tokenizer' | 'mcp wrap --tokenizer') _tokcap_list tokenizers "$2" ;;
        ' -o' | ' --output' | 'show -o' | 'show --output' | 'budget check -o' | 'budget check --output' | 'budget compacted -o' | 'budget compacted --output' | 'budget end -o' | 'budget end --output' | 'budget history -o' | 'budget history --output' | 'budget list -o' | 'budget list --output' | 'budget record -o' | 'budget reset -o' | 'budget reset --output' | 'budget start -o' | 'budget start --output' | 'budget status -o' | 'budget status --output' | 'budget turn -o' | 'budget turn --output' | 'budget watch -o' | 'budget watch --output' | 'count -o' | 'count --output' | 'doctor -o' | 'doctor --output' | 'spill gc -o' | 'spill gc --output' | 'spill list -o' | 'spill list --output' | 'spill path -o' | 'spill path --output' | 'spill rm -o' | 'spill rm --output' | 'stats -o' | 'stats --output' | 'tokenizer add -o' | 'tokenizer add --output' | 'tokenizer calibrate -o' | 'tokenizer calibrate --output' | 'tokenizer check -o' | 'tokenizer check --output' | 'tokenizer list -o' | 'tokenizer list --output' | 'tokenizer remove -o' | 'tokenizer remove --output' | 'tokenizer show -o' | 'tokenizer show --output') offered=(text json jsonl) ;;
        ' --shape' | 'show --shape') offered=(auto text json jsonl csv tsv) ;;
        ' --mode' | 'show --mode') offered=(raw table summary handle_only) ;;
        ' --stderr') offered=(separate merge pass drop) ;;
        ' --spill') offered=(auto always never) ;;
        ' --session' | 'show --session' | 'budget check --session' | 'budget check 0' | 'budget compacted --session' | 'budget compacted 0' | 'budget end --session' | 'budget end 0' | 'budget history 0' | 'budget record --session' | 'budget record 0' | 'budget reset --session' | 'budget reset 0' | 'budget start --parent' | 'budget start --session' | 'budget start 0' | 'budget status --session' | 'budget status 0' | 'budget turn --session' | 'budget watch 0' | 'hook install --session' | 'hook print --session' | 'mcp --session' | 'mcp wrap --session') _tokcap_list sessions "$2" ;;
        ' --ledger-file' | 'show --ledger-file' | 'count '[0-9]* | 'stats --plot' | 'tokenizer add 1' | 'tokenizer calibrate '[0-9]* | 'tokenizer check --source' | 'tokenizer check '[0-9]*) compopt -o default 2>/dev/null ;;
        ' --on-ledger-failure' | 'show --on-ledger-failure') offered=(closed open) ;;
        ' --repeat' | 'hook install --repeat' | 'hook print --repeat') offered=(full mark diff) ;;
        ' --model' | 'show --model' | 'budget start --model' | 'count --model' | 'hook install --model' | 'hook print --model') _tokcap_list models "$2" ;;
        'show --stream' | 'spill path --stream') offered=(out err) ;;
        'show 0' | 'spill path 0' | 'spill rm '[0-9]*) _tokcap_list handles "$2" ;;
        'budget start --renew') offered=(day week month) ;;
        'budget start --shell' | 'budget turn --shell') offered=(sh fish) ;;
        'completion install 0' | 'completion uninstall 0') offered=(bash zsh fish man) ;;
        'hook install 0' | 'hook print 0' | 'hook remove 0' | 'hook test --agent') offered=(claude-code codex opencode pi gemini qwen copilot cline hermes vibe) ;;
        'manifest -o' | 'manifest --output') offered=(json text) ;;
        'stats --by') offered=(day command session) ;;
        'tokenizer check 0' | 'tokenizer remove 0' | 'tokenizer show 0') _tokcap_list added "$2" ;;
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
