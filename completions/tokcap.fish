# fish completion for tokcap

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
            case -n --token-limit --token-offset --keep --align --sentinel --tokenizer -o --output --shape --fields --mode --stderr --timeout --kill-after --spill --max-bytes --spill-days --spill-total --session --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook
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
complete -c tokcap -n __tokcap_in_options -s n -l token-limit -x -d 'emit at most N tokens, the mark included'
complete -c tokcap -n __tokcap_in_options -l token-offset -x -d 'start at token N of the full output'
complete -c tokcap -n __tokcap_in_options -l token-count -d 'run to the end, emit only the number of tokens'
complete -c tokcap -n __tokcap_in_options -l no-token-count -d 'turn --token-count off again'
complete -c tokcap -n __tokcap_in_options -l keep -x -a 'head tail ends' -d 'which part of an oversized output survives'
complete -c tokcap -n __tokcap_in_options -l align -x -a 'record token' -d 'cut between records (lines) or at any token'
complete -c tokcap -n __tokcap_in_options -l sentinel -x -d 'text of the mark; empty: no mark, windows tile arithmetically'
complete -c tokcap -n __tokcap_in_options -l exact-total -d 'count all of an output over 64 KiB too, instead of estimating how many tokens it has'
complete -c tokcap -n __tokcap_in_options -l no-exact-total -d 'turn --exact-total off again'
complete -c tokcap -n __tokcap_in_options -l tokenizer -x -a 'cl100k_base o200k_base approx' -d 'cl100k_base, o200k_base, any tiktoken encoding or model name, approx (characters / 4), or a registered plug-in'
complete -c tokcap -n __tokcap_in_options -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n __tokcap_in_options -l shape -x -a 'auto text json jsonl csv tsv' -d 'what the payload is; auto: found out from the payload'
complete -c tokcap -n __tokcap_in_options -l fields -x -d 'keep only these keys or columns, before counting: a,b.c'
complete -c tokcap -n __tokcap_in_options -l mode -x -a 'raw table summary handle_only' -d 'how much to show: the output itself, its records as a table, what it is about, or one line'
complete -c tokcap -n __tokcap_in_options -l stderr -x -a 'separate merge pass drop' -d 'what becomes of the command'"'"'s stderr: capped on its own descriptor, merged into stdout in order, passed on untouched and uncounted, or dropped'
complete -c tokcap -n __tokcap_in_options -l pty -d 'give the command a terminal of its own; its streams are merged'
complete -c tokcap -n __tokcap_in_options -l no-pty -d 'turn --pty off again'
complete -c tokcap -n __tokcap_in_options -l timeout -x -d 'end the command, and all that it has started, after this time: 90, 1.5m, 500ms; exit 124'
complete -c tokcap -n __tokcap_in_options -l kill-after -x -d 'how long they may take to end before they are killed'
complete -c tokcap -n __tokcap_in_options -l kill-on-limit -d 'end the command once the window is full, instead of running it to its end'
complete -c tokcap -n __tokcap_in_options -l no-kill-on-limit -d 'turn --kill-on-limit off again'
complete -c tokcap -n __tokcap_in_options -l clean -d 'drop ANSI escapes, progress frames, trailing blanks and runs of blank lines: the output as a terminal would finally show it'
complete -c tokcap -n __tokcap_in_options -l no-clean -d 'turn --clean off again'
complete -c tokcap -n __tokcap_in_options -l spill -x -a 'auto always never' -d 'store the full output; auto: when anything of it was withheld'
complete -c tokcap -n __tokcap_in_options -l max-bytes -x -d 'most bytes stored of one output'
complete -c tokcap -n __tokcap_in_options -l redact -d 'mask what looks like a secret, in what is shown and in what is stored'
complete -c tokcap -n __tokcap_in_options -l no-redact -d 'turn --redact off again'
complete -c tokcap -n __tokcap_in_options -l record-arguments -d 'store the command'"'"'s arguments with its output'
complete -c tokcap -n __tokcap_in_options -l no-record-arguments -d 'turn --record-arguments off again'
complete -c tokcap -n __tokcap_in_options -l spill-days -x -d 'remove stored outputs that are older'
complete -c tokcap -n __tokcap_in_options -l spill-total -x -d 'remove the oldest stored outputs when all of them are larger'
complete -c tokcap -n __tokcap_in_options -l session -x -d 'charge this session'"'"'s budget; see tokcap budget'
complete -c tokcap -n __tokcap_in_options -l turn -x -d 'count this result to a turn, which may take --turn-pct of the window'
complete -c tokcap -n __tokcap_in_options -l model -x -d 'the reader, for its window and tokenizer: gpt-4o, claude, or one of config.toml'
complete -c tokcap -n __tokcap_in_options -l context-window -x -d 'tokens of the reader'"'"'s context; one result may take --result-pct of it'
complete -c tokcap -n __tokcap_in_options -l result-pct -x -d 'what part of the window one result may take'
complete -c tokcap -n __tokcap_in_options -l turn-pct -x -d 'what part of the window the results of one turn may take'
complete -c tokcap -n __tokcap_in_options -l floor-tokens -x -d 'what one result may take even of a full window'
complete -c tokcap -n __tokcap_in_options -l compact-before-spill -d 'when the window is so full that the floor decides, run --compact-hook once and reckon again'
complete -c tokcap -n __tokcap_in_options -l no-compact-before-spill -d 'turn --compact-before-spill off again'
complete -c tokcap -n __tokcap_in_options -l compact-hook -x -d 'shell command that compacts the reader'"'"'s context, and then runs tokcap budget compacted'
complete -c tokcap -n __tokcap_in_options -s h -l help -d 'show all options'
complete -c tokcap -n __tokcap_in_options -s V -l version -d 'show the version'
# An option before a subcommand is refused: it can only be the first word.
complete -c tokcap -n __tokcap_behind -a 'show spill budget doctor hook manifest completion' -d subcommand
complete -c tokcap -n '__tokcap_behind show' -a '@last --token-limit --token-offset --token-count --keep --align --sentinel --exact-total --tokenizer --output --shape --fields --mode --session --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-before-spill --compact-hook --stream --pointer --grep --context'
complete -c tokcap -n '__tokcap_behind spill' -a 'list path rm gc'
complete -c tokcap -n '__tokcap_behind budget' -a 'start status list record check turn compacted reset end'
complete -c tokcap -n '__tokcap_behind doctor' -a '--write-config --output'
complete -c tokcap -n '__tokcap_behind hook' -a 'list install remove print'
complete -c tokcap -n '__tokcap_behind manifest' -a ''
complete -c tokcap -n '__tokcap_behind completion' -a 'bash zsh fish'
complete -c tokcap -n 'not contains -- (commandline -opc)[2] show spill budget doctor hook manifest completion' -a '(__tokcap_complete_command)'
