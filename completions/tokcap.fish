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
            case -n --token-limit --token-offset --keep --align --sentinel --tokenizer -o --output --shape --fields --stderr --timeout --kill-after
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
complete -c tokcap -n __tokcap_in_options -l tokenizer -x -a 'cl100k_base o200k_base approx' -d 'cl100k_base, o200k_base, any tiktoken encoding or model name, approx (characters / 4), or a registered plug-in'
complete -c tokcap -n __tokcap_in_options -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n __tokcap_in_options -l shape -x -a 'auto text json jsonl csv tsv' -d 'what the payload is; auto: found out from the payload'
complete -c tokcap -n __tokcap_in_options -l fields -x -d 'keep only these keys or columns, before counting: a,b.c'
complete -c tokcap -n __tokcap_in_options -l stderr -x -a 'separate merge pass drop' -d 'what becomes of the command'"'"'s stderr: capped on its own descriptor, merged into stdout in order, passed on untouched and uncounted, or dropped'
complete -c tokcap -n __tokcap_in_options -l pty -d 'give the command a terminal of its own; its streams are merged'
complete -c tokcap -n __tokcap_in_options -l no-pty -d 'turn --pty off again'
complete -c tokcap -n __tokcap_in_options -l timeout -x -d 'end the command, and all that it has started, after this time: 90, 1.5m, 500ms; exit 124'
complete -c tokcap -n __tokcap_in_options -l kill-after -x -d 'how long they may take to end before they are killed'
complete -c tokcap -n __tokcap_in_options -s h -l help -d 'show all options'
complete -c tokcap -n __tokcap_in_options -s V -l version -d 'show the version'
# An option before a subcommand is refused: it can only be the first word.
complete -c tokcap -n __tokcap_behind -a 'completion' -d subcommand
complete -c tokcap -n '__tokcap_behind completion' -a 'bash zsh fish'
complete -c tokcap -n 'not contains -- (commandline -opc)[2] completion' -a '(__tokcap_complete_command)'
