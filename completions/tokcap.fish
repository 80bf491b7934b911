# fish completion for tokcap

# Print the words of the wrapped command, but not the one at the cursor.
# Status 1: the options go on. Status 2: a string for the shell, of which there is nothing to complete.
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
            case -n --token-limit --token-offset --keep --align --sentinel --tokenizer -o --output --shape --fields --mode --stderr --timeout --kill-after --spill --max-bytes --spill-days --spill-total --session --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook --stream --pointer --grep --context --need --used --input --id --total --shell --etag --by --since --plot
                set -e words[1..2]
            case -
                break
            case '-*'
                string match -qr '^-[^-no][^-]*c$' -- $words[1]
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

# Whether the words before the cursor are tokcap and these, no option among them.
function __tokcap_behind
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end

# Whether the line is about this subcommand.
function __tokcap_in
    set -l words (commandline -opc)
    set -l end (math 1 + (count $argv))
    test "$words[2..$end]" = "$argv"
end

# Whether the cursor is at the argument of that number of this subcommand.
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
        else if contains -- $words[1] -n --token-limit --token-offset --keep --align --sentinel --tokenizer -o --output --shape --fields --mode --stderr --timeout --kill-after --spill --max-bytes --spill-days --spill-total --session --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook --stream --pointer --grep --context --need --used --input --id --total --shell --etag --by --since --plot
            set -e words[1]
        end
        set -e words[1]
    end
    test $count = $argv[1]
end

# Names that only tokcap knows, the latest first. It says nothing where something is wrong.
function __tokcap_list
    # An option can stand here as well; with its value attached it is asked for a name, too.
    string match -qr '^-[^=]*$' -- (commandline -ct)
    and return
    set -l program (string replace -r '^~/' "$HOME/" -- (commandline -opc)[1])
    # By env: what fish says of a program that cannot be started goes to the terminal whatever is redirected.
    command env $program completion --list $argv 2>/dev/null </dev/null
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
complete -c tokcap -n __tokcap_in_options -l stderr -x -a 'separate merge pass drop' -d 'what becomes of the command\'s stderr: capped on its own descriptor, merged into stdout in order, passed on untouched and uncounted, or dropped'
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
complete -c tokcap -n __tokcap_in_options -l record-arguments -d 'store the command\'s arguments with its output'
complete -c tokcap -n __tokcap_in_options -l no-record-arguments -d 'turn --record-arguments off again'
complete -c tokcap -n __tokcap_in_options -l spill-days -x -d 'remove stored outputs that are older'
complete -c tokcap -n __tokcap_in_options -l spill-total -x -d 'remove the oldest stored outputs when all of them are larger'
complete -c tokcap -n __tokcap_in_options -l account -d 'write one line on this call for tokcap stats: sizes and the program\'s name, no arguments'
complete -c tokcap -n __tokcap_in_options -l no-account -d 'turn --account off again'
complete -c tokcap -n __tokcap_in_options -l session -x -k -a '(__tokcap_list sessions)' -d 'charge this session\'s budget; see tokcap budget'
complete -c tokcap -n __tokcap_in_options -l turn -x -d 'count this result to a turn, which may take --turn-pct of the window'
complete -c tokcap -n __tokcap_in_options -l model -x -k -a '(__tokcap_list models)' -d 'the reader, for its window and tokenizer: gpt-4o, claude, or one of config.toml'
complete -c tokcap -n __tokcap_in_options -l context-window -x -d 'tokens of the reader\'s context; one result may take --result-pct of it'
complete -c tokcap -n __tokcap_in_options -l result-pct -x -d 'what part of the window one result may take'
complete -c tokcap -n __tokcap_in_options -l turn-pct -x -d 'what part of the window the results of one turn may take'
complete -c tokcap -n __tokcap_in_options -l floor-tokens -x -d 'what one result may take even of a full window'
complete -c tokcap -n __tokcap_in_options -l compact-before-spill -d 'when the window is so full that the floor decides, run --compact-hook once and reckon again'
complete -c tokcap -n __tokcap_in_options -l no-compact-before-spill -d 'turn --compact-before-spill off again'
complete -c tokcap -n __tokcap_in_options -l compact-hook -x -d 'shell command that compacts the reader\'s context, and then runs tokcap budget compacted'
complete -c tokcap -n __tokcap_in_options -s c -x -d 'run STRING in a shell, as sh -c does'
complete -c tokcap -n __tokcap_in_options -s h -l help -d 'show this help'
complete -c tokcap -n __tokcap_in_options -s V -l version -d 'show the version'
# An option before a subcommand is refused: its name can only be the first word.
complete -c tokcap -n __tokcap_behind -a show -d 'Read an output that tokcap has stored; the command does not run again'
complete -c tokcap -n __tokcap_behind -a budget -d 'Sessions: token budgets that many processes share'
complete -c tokcap -n __tokcap_behind -a completion -d 'Print a completion script; put it where the shell looks for such, or source it'
complete -c tokcap -n __tokcap_behind -a doctor -d 'Check versions, packages, vocabularies, stored outputs, sessions, the usage log, hooks, shells and configuration'
complete -c tokcap -n __tokcap_behind -a hook -d 'Make a coding agent run its shell commands under tokcap'
complete -c tokcap -n __tokcap_behind -a manifest -d 'Describe every command for programs: its options, their values, exit statuses and examples'
complete -c tokcap -n __tokcap_behind -a mcp -d 'Serve the tools run, show, grep and budget_status to an agent, over stdin and stdout'
complete -c tokcap -n __tokcap_behind -a spill -d 'List, find and remove stored outputs'
complete -c tokcap -n __tokcap_behind -a stats -d 'What was run, shown, withheld and saved, in exact tokens, by day, command and session'
complete -c tokcap -n '__tokcap_behind spill' -a gc -d 'Remove what is too old or too much, and what those left behind who were killed while storing'
complete -c tokcap -n '__tokcap_behind spill' -a list -d 'Stored outputs, the latest first: handle, age, size, tokens, exit status, command'
complete -c tokcap -n '__tokcap_behind spill' -a path -d 'The file that holds a stored output: plain bytes, for any tool'
complete -c tokcap -n '__tokcap_behind spill' -a rm -d 'Remove stored outputs'
complete -c tokcap -n '__tokcap_behind budget' -a check -d 'Whether enough is left: status 0, or 1 if not'
complete -c tokcap -n '__tokcap_behind budget' -a compacted -d 'Say that the reader\'s context was compacted'
complete -c tokcap -n '__tokcap_behind budget' -a end -d 'End a session'
complete -c tokcap -n '__tokcap_behind budget' -a list -d 'All sessions that run'
complete -c tokcap -n '__tokcap_behind budget' -a record -d 'Add the caller\'s own model tokens'
complete -c tokcap -n '__tokcap_behind budget' -a reset -d 'Begin a session anew with its settings: nothing used, nothing reserved'
complete -c tokcap -n '__tokcap_behind budget' -a start -d 'Start a session and print the line to evaluate'
complete -c tokcap -n '__tokcap_behind budget' -a status -d 'How a session stands: used, reserved, left, and the mode that answers come in'
complete -c tokcap -n '__tokcap_behind budget' -a turn -d 'Begin a turn: print the line to evaluate'
complete -c tokcap -n '__tokcap_behind hook' -a install -d 'Add the hook to the agent\'s settings; all other settings stay unchanged'
complete -c tokcap -n '__tokcap_behind hook' -a list -d 'List agents: hook installed, available, or why unsupported'
complete -c tokcap -n '__tokcap_behind hook' -a print -d 'Print the settings that install would write, to add them by hand'
complete -c tokcap -n '__tokcap_behind hook' -a remove -d 'Remove the hook from the agent\'s settings'
complete -c tokcap -n '__tokcap_in show' -l stream -x -a 'out err' -d 'which stream of the command is read'
complete -c tokcap -n '__tokcap_in show' -l pointer -x -d 'only the value at this JSON pointer: /items/3/body; a string comes out as text'
complete -c tokcap -n '__tokcap_in show' -l grep -x -d 'only lines that match, with line number and token offset in front'
complete -c tokcap -n '__tokcap_in show' -l context -x -d 'with --grep: also N lines before and after each match'
complete -c tokcap -n '__tokcap_in show' -s n -l token-limit -x -d 'emit at most N tokens, the mark included'
complete -c tokcap -n '__tokcap_in show' -l token-offset -x -d 'start at token N of the full output'
complete -c tokcap -n '__tokcap_in show' -l token-count -d 'run to the end, emit only the number of tokens'
complete -c tokcap -n '__tokcap_in show' -l no-token-count -d 'turn --token-count off again'
complete -c tokcap -n '__tokcap_in show' -l keep -x -a 'head tail ends' -d 'which part of an oversized output survives'
complete -c tokcap -n '__tokcap_in show' -l align -x -a 'record token' -d 'cut between records (lines) or at any token'
complete -c tokcap -n '__tokcap_in show' -l sentinel -x -d 'text of the mark; empty: no mark, windows tile arithmetically'
complete -c tokcap -n '__tokcap_in show' -l exact-total -d 'count all of an output over 64 KiB too, instead of estimating how many tokens it has'
complete -c tokcap -n '__tokcap_in show' -l no-exact-total -d 'turn --exact-total off again'
complete -c tokcap -n '__tokcap_in show' -l tokenizer -x -a 'cl100k_base o200k_base approx' -d 'cl100k_base, o200k_base, any tiktoken encoding or model name, approx (characters / 4), or a registered plug-in'
complete -c tokcap -n '__tokcap_in show' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in show' -l shape -x -a 'auto text json jsonl csv tsv' -d 'what the payload is; auto: found out from the payload'
complete -c tokcap -n '__tokcap_in show' -l fields -x -d 'keep only these keys or columns, before counting: a,b.c'
complete -c tokcap -n '__tokcap_in show' -l mode -x -a 'raw table summary handle_only' -d 'how much to show: the output itself, its records as a table, what it is about, or one line'
complete -c tokcap -n '__tokcap_in show' -l account -d 'write one line on this call for tokcap stats: sizes and the program\'s name, no arguments'
complete -c tokcap -n '__tokcap_in show' -l no-account -d 'turn --account off again'
complete -c tokcap -n '__tokcap_in show' -l session -x -k -a '(__tokcap_list sessions)' -d 'charge this session\'s budget; see tokcap budget'
complete -c tokcap -n '__tokcap_in show' -l turn -x -d 'count this result to a turn, which may take --turn-pct of the window'
complete -c tokcap -n '__tokcap_in show' -l model -x -k -a '(__tokcap_list models)' -d 'the reader, for its window and tokenizer: gpt-4o, claude, or one of config.toml'
complete -c tokcap -n '__tokcap_in show' -l context-window -x -d 'tokens of the reader\'s context; one result may take --result-pct of it'
complete -c tokcap -n '__tokcap_in show' -l result-pct -x -d 'what part of the window one result may take'
complete -c tokcap -n '__tokcap_in show' -l turn-pct -x -d 'what part of the window the results of one turn may take'
complete -c tokcap -n '__tokcap_in show' -l floor-tokens -x -d 'what one result may take even of a full window'
complete -c tokcap -n '__tokcap_in show' -l compact-before-spill -d 'when the window is so full that the floor decides, run --compact-hook once and reckon again'
complete -c tokcap -n '__tokcap_in show' -l no-compact-before-spill -d 'turn --compact-before-spill off again'
complete -c tokcap -n '__tokcap_in show' -l compact-hook -x -d 'shell command that compacts the reader\'s context, and then runs tokcap budget compacted'
complete -c tokcap -n '__tokcap_in show' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 show' -k -a '(__tokcap_list handles (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget check' -l need -x -d 'tokens that have to be left; with -o json a run needs 150'
complete -c tokcap -n '__tokcap_in budget check' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget check' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget check' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget check' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget compacted' -l used -x -d 'tokens that the context holds now'
complete -c tokcap -n '__tokcap_in budget compacted' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget compacted' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget compacted' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget compacted' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget end' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget end' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget end' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget end' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget list' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in budget record' -l input -x -d 'tokens that the model read'
complete -c tokcap -n '__tokcap_in budget record' -l output -x -d 'tokens that the model wrote'
complete -c tokcap -n '__tokcap_in budget record' -l id -x -d 'a key under which they are counted only once'
complete -c tokcap -n '__tokcap_in budget record' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget record' -s o -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget record' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget record' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget reset' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget reset' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget reset' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget reset' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget start' -l total -x -d 'the budget in tokens; none: nothing is refused'
complete -c tokcap -n '__tokcap_in budget start' -l context-window -x -d 'tokens of the reader\'s context'
complete -c tokcap -n '__tokcap_in budget start' -l model -x -k -a '(__tokcap_list models)' -d 'the reader, for its window'
complete -c tokcap -n '__tokcap_in budget start' -l result-pct -x -d 'part of the window for one result'
complete -c tokcap -n '__tokcap_in budget start' -l turn-pct -x -d 'part of the window for one turn'
complete -c tokcap -n '__tokcap_in budget start' -l floor-tokens -x -d 'what one result gets of a full window'
complete -c tokcap -n '__tokcap_in budget start' -l shell -x -a 'sh fish' -d 'the shell that evaluates the line'
complete -c tokcap -n '__tokcap_in budget start' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget start' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget start' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget start' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget status' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget status' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget status' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget status' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget turn' -l shell -x -a 'sh fish' -d 'the shell that evaluates the line'
complete -c tokcap -n '__tokcap_in budget turn' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; TOKCAP_SESSION if not given'
complete -c tokcap -n '__tokcap_in budget turn' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in budget turn' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in completion' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 completion' -a 'bash zsh fish'
complete -c tokcap -n '__tokcap_in doctor' -l write-config -d 'only write a commented config.toml, if there is none'
complete -c tokcap -n '__tokcap_in doctor' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in doctor' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in hook install' -s n -l token-limit -x -d 'tokens per command'
complete -c tokcap -n '__tokcap_in hook install' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session to charge'
complete -c tokcap -n '__tokcap_in hook install' -l project -d 'use the settings of the current directory instead of the user\'s'
complete -c tokcap -n '__tokcap_in hook install' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 hook install' -a 'claude-code gemini'
complete -c tokcap -n '__tokcap_in hook list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in hook print' -s n -l token-limit -x -d 'tokens per command'
complete -c tokcap -n '__tokcap_in hook print' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session to charge'
complete -c tokcap -n '__tokcap_in hook print' -l project -d 'use the settings of the current directory instead of the user\'s'
complete -c tokcap -n '__tokcap_in hook print' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 hook print' -a 'claude-code gemini'
complete -c tokcap -n '__tokcap_in hook remove' -l project -d 'use the settings of the current directory instead of the user\'s'
complete -c tokcap -n '__tokcap_in hook remove' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 hook remove' -a 'claude-code gemini'
complete -c tokcap -n '__tokcap_in manifest' -l etag -x -d 'the etag of a manifest at hand'
complete -c tokcap -n '__tokcap_in manifest' -s o -l output -x -a 'json text' -d 'form of the response'
complete -c tokcap -n '__tokcap_in manifest' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in mcp' -s n -l token-limit -x -d 'most tokens of any answer'
complete -c tokcap -n '__tokcap_in mcp' -l session -x -k -a '(__tokcap_list sessions)' -d 'charge every answer to this session'
complete -c tokcap -n '__tokcap_in mcp' -l total -x -d 'start the session with this total; without a name it ends with the server'
complete -c tokcap -n '__tokcap_in mcp' -l tokenizer -x -a 'cl100k_base o200k_base approx' -d 'the tokenizer that counts'
complete -c tokcap -n '__tokcap_in mcp' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill gc' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in spill gc' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill list' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in spill list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill path' -l stream -x -a 'out err' -d 'which stream of the command'
complete -c tokcap -n '__tokcap_in spill path' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in spill path' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 spill path' -k -a '(__tokcap_list handles (commandline -ct))'
complete -c tokcap -n '__tokcap_in spill rm' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in spill rm' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill rm' -k -a '(__tokcap_list handles (commandline -ct))'
complete -c tokcap -n '__tokcap_in stats' -l by -x -a 'day command session' -d 'one table only, with all of its rows; all three if not given'
complete -c tokcap -n '__tokcap_in stats' -l since -x -d 'from 2026-11-01 on, or the last 7d or 2w, today included'
complete -c tokcap -n '__tokcap_in stats' -l plot -r -F -d 'also draw it, to FILE.png or FILE.svg (needs matplotlib)'
complete -c tokcap -n '__tokcap_in stats' -s o -l output -x -a 'text json jsonl' -d 'form of the response'
complete -c tokcap -n '__tokcap_in stats' -s h -l help -d 'show this help'
complete -c tokcap -n 'not contains -- (commandline -opc)[2] show budget completion doctor hook manifest mcp spill stats' -a '(__tokcap_complete_command)'
