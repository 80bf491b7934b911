# fish completion for tokcap

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
            case -n --token-limit --token-offset --keep --focus --align --sentinel --tokenizer -o --output --shape --fields --mode --stderr --timeout --kill-after --spill --max-bytes --spill-days --spill-total --store --session --ledger --ledger-file --on-ledger-failure --repeat --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook --stream --pointer --grep --context --need --used --input --id --total --parent --renew --shell --every --tools --agent --etag --url --header --by --since --plot --pre-split --counter --texts --source
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
        else if contains -- $words[1] -n --token-limit --token-offset --keep --focus --align --sentinel --tokenizer -o --output --shape --fields --mode --stderr --timeout --kill-after --spill --max-bytes --spill-days --spill-total --store --session --ledger --ledger-file --on-ledger-failure --repeat --turn --model --context-window --result-pct --turn-pct --floor-tokens --compact-hook --stream --pointer --grep --context --need --used --input --id --total --parent --renew --shell --every --tools --agent --etag --url --header --by --since --plot --pre-split --counter --texts --source
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
complete -c tokcap -n __tokcap_in_options -s n -l token-limit -x -d 'show at most N tokens, including the mark'
complete -c tokcap -n __tokcap_in_options -l token-offset -x -d 'start at token N of the full output'
complete -c tokcap -n __tokcap_in_options -l token-count -d 'print only the number of tokens of the full output'
complete -c tokcap -n __tokcap_in_options -l no-token-count -d 'turn --token-count off'
complete -c tokcap -n __tokcap_in_options -l keep -x -a 'head tail ends focus auto' -d 'which part of an output over the limit to show'
complete -c tokcap -n __tokcap_in_options -l focus -x -d 'show lines that match first; implies --keep focus'
complete -c tokcap -n __tokcap_in_options -l align -x -a 'record token' -d 'cut between records (lines, rows, values) or at any token'
complete -c tokcap -n __tokcap_in_options -l sentinel -x -d 'text of the mark; empty: no mark, and each window has exactly the limit'
complete -c tokcap -n __tokcap_in_options -l exact-total -d 'count all tokens of an output over 64 KiB instead of estimating the total'
complete -c tokcap -n __tokcap_in_options -l no-exact-total -d 'turn --exact-total off'
complete -c tokcap -n __tokcap_in_options -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'cl100k_base, o200k_base, any tiktoken encoding or model name, a vocabulary added by `tokcap tokenizer add`, approx (characters / 4), or a registered plug-in'
complete -c tokcap -n __tokcap_in_options -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n __tokcap_in_options -l shape -x -a 'auto text json jsonl csv tsv' -d 'what kind of data the output is; auto: detect it'
complete -c tokcap -n __tokcap_in_options -l fields -x -d 'show only these keys or columns, selected before counting: a,b.c'
complete -c tokcap -n __tokcap_in_options -l mode -x -a 'raw table summary handle_only' -d 'how much to show: the output itself, its records as a table, a summary, or one line'
complete -c tokcap -n __tokcap_in_options -l stderr -x -a 'separate merge pass drop' -d 'what to do with the command\'s stderr: cap it separately, merge it into stdout in order, pass it on unchanged and uncounted, or drop it'
complete -c tokcap -n __tokcap_in_options -l pty -d 'run the command in a pseudo-terminal; its streams are merged'
complete -c tokcap -n __tokcap_in_options -l no-pty -d 'turn --pty off'
complete -c tokcap -n __tokcap_in_options -l timeout -x -d 'stop the command and its child processes after this time: 90, 1.5m, 500ms; exit 124'
complete -c tokcap -n __tokcap_in_options -l kill-after -x -d 'time between the TERM signal and the KILL signal'
complete -c tokcap -n __tokcap_in_options -l kill-on-limit -d 'stop the command when the window is full, instead of running it to its end'
complete -c tokcap -n __tokcap_in_options -l no-kill-on-limit -d 'turn --kill-on-limit off'
complete -c tokcap -n __tokcap_in_options -l clean -d 'remove ANSI escapes, progress frames, trailing spaces and repeated blank lines: the output as a terminal finally shows it'
complete -c tokcap -n __tokcap_in_options -l no-clean -d 'turn --clean off'
complete -c tokcap -n __tokcap_in_options -l spill -x -a 'auto always never' -d 'store the full output; auto: if any of it was not shown'
complete -c tokcap -n __tokcap_in_options -l max-bytes -x -d 'store at most this many bytes of one output'
complete -c tokcap -n __tokcap_in_options -l redact -d 'mask what looks like a secret, both in what is shown and in what is stored'
complete -c tokcap -n __tokcap_in_options -l no-redact -d 'turn --redact off'
complete -c tokcap -n __tokcap_in_options -l record-arguments -d 'store the command\'s arguments with its output'
complete -c tokcap -n __tokcap_in_options -l no-record-arguments -d 'turn --record-arguments off'
complete -c tokcap -n __tokcap_in_options -l spill-days -x -d 'remove stored outputs older than N days'
complete -c tokcap -n __tokcap_in_options -l spill-total -x -d 'remove the oldest stored outputs when all together exceed this size'
complete -c tokcap -n __tokcap_in_options -l store -x -d 'where every host can read stored outputs: s3://BUCKET, gs://BUCKET, az://CONTAINER, each with or without /PREFIX, or file:///DIRECTORY; the data directory then is a cache of it'
complete -c tokcap -n __tokcap_in_options -l account -d 'log this call for tokcap stats: sizes and the program\'s name, no arguments'
complete -c tokcap -n __tokcap_in_options -l no-account -d 'turn --account off'
complete -c tokcap -n __tokcap_in_options -l session -x -k -a '(__tokcap_list sessions)' -d 'charge the budget of this session; see tokcap budget'
complete -c tokcap -n __tokcap_in_options -l ledger -x -d 'where sessions are kept, for many machines: redis://HOST, rediss://HOST, unix://PATH or postgresql://HOST/DB; a password is refused here, where others can see it'
complete -c tokcap -n __tokcap_in_options -l ledger-file -r -F -d 'a file that contains the URL for --ledger, which may then contain a password'
complete -c tokcap -n __tokcap_in_options -l on-ledger-failure -x -a 'closed open' -d 'if the server of --ledger cannot be reached before the run: refuse with exit status 125, or (open) run uncharged with a warning, and charge the session later'
complete -c tokcap -n __tokcap_in_options -l repeat -x -a 'full mark diff' -d 'in a session, what to do with an output that was shown since the last compaction: show it, or answer with one line (mark); diff: also show only what differs from the command\'s last output'
complete -c tokcap -n __tokcap_in_options -l turn -x -d 'count this result toward a turn; a turn may take --turn-pct of the context window'
complete -c tokcap -n __tokcap_in_options -l model -x -k -a '(__tokcap_list models)' -d 'the model that reads the output; sets context window and tokenizer: gpt-4o, claude, or a name in config.toml'
complete -c tokcap -n __tokcap_in_options -l context-window -x -d 'size of the model\'s context window in tokens; one result may take --result-pct of it'
complete -c tokcap -n __tokcap_in_options -l result-pct -x -d 'part of the context window that one result may take'
complete -c tokcap -n __tokcap_in_options -l turn-pct -x -d 'part of the context window that the results of one turn may take together'
complete -c tokcap -n __tokcap_in_options -l floor-tokens -x -d 'tokens that one result may take even if the context window is full'
complete -c tokcap -n __tokcap_in_options -l compact-before-spill -d 'when the context is nearly full, run --compact-hook once and retry'
complete -c tokcap -n __tokcap_in_options -l no-compact-before-spill -d 'turn --compact-before-spill off'
complete -c tokcap -n __tokcap_in_options -l compact-hook -x -d 'shell command that compacts the model\'s context and then runs tokcap budget compacted'
complete -c tokcap -n __tokcap_in_options -s c -x -d 'run STRING in a shell, as sh -c does'
complete -c tokcap -n __tokcap_in_options -s h -l help -d 'show this help'
complete -c tokcap -n __tokcap_in_options -s V -l version -d 'show the version'
# Options before a subcommand are refused, so a subcommand can only be the first word.
complete -c tokcap -n __tokcap_after -a show -d 'Read an output that tokcap has stored; the command does not run again'
complete -c tokcap -n __tokcap_after -a budget -d 'Manage sessions: token budgets that many processes share'
complete -c tokcap -n __tokcap_after -a completion -d 'Complete the words of tokcap in bash, zsh and fish'
complete -c tokcap -n __tokcap_after -a count -d 'Count the tokens of files: one line for each file, and the total of several'
complete -c tokcap -n __tokcap_after -a doctor -d 'Check versions, packages, vocabularies, stored outputs, sessions, the usage log, hooks, shells and configuration'
complete -c tokcap -n __tokcap_after -a hook -d 'Cap what a coding agent sends to its model'
complete -c tokcap -n __tokcap_after -a manifest -d 'Describe every command for programs: its options, their values, exit statuses and examples'
complete -c tokcap -n __tokcap_after -a mcp -d 'Serve the tools run, show, grep and budget_status to an agent, over stdin and stdout'
complete -c tokcap -n __tokcap_after -a spill -d 'List, find and remove stored outputs'
complete -c tokcap -n __tokcap_after -a stats -d 'Show how many tokens were shown, withheld and saved, by day, command and session'
complete -c tokcap -n __tokcap_after -a tokenizer -d 'Add the vocabulary of a model, and count with it'
complete -c tokcap -n '__tokcap_after spill' -a gc -d 'Remove outputs over the limits of age and total size, and leftovers of interrupted runs'
complete -c tokcap -n '__tokcap_after spill' -a list -d 'List stored outputs, the latest first: handle, age, size, tokens, exit status, command'
complete -c tokcap -n '__tokcap_after spill' -a path -d 'Print the path of the file that holds a stored output: plain bytes, for any tool'
complete -c tokcap -n '__tokcap_after spill' -a rm -d 'Remove stored outputs'
complete -c tokcap -n '__tokcap_after budget' -a check -d 'Check whether enough is left: exit status 0 if so, 1 if not'
complete -c tokcap -n '__tokcap_after budget' -a compacted -d 'Record that the model\'s context was compacted'
complete -c tokcap -n '__tokcap_after budget' -a end -d 'End a session'
complete -c tokcap -n '__tokcap_after budget' -a history -d 'Show what sessions have used: each period that is over, and the present one'
complete -c tokcap -n '__tokcap_after budget' -a list -d 'List all running sessions'
complete -c tokcap -n '__tokcap_after budget' -a record -d 'Add tokens that the caller\'s own model used'
complete -c tokcap -n '__tokcap_after budget' -a reset -d 'Set the used and reserved tokens of a session to 0; its settings stay'
complete -c tokcap -n '__tokcap_after budget' -a start -d 'Start a session and print the line to evaluate'
complete -c tokcap -n '__tokcap_after budget' -a status -d 'Show the state of a session: tokens used, reserved and left, and the mode of the next answer'
complete -c tokcap -n '__tokcap_after budget' -a turn -d 'Begin a turn and print the line to evaluate'
complete -c tokcap -n '__tokcap_after budget' -a watch -d 'Show sessions and who holds what, and keep it up to date until q or Ctrl-C is typed'
complete -c tokcap -n '__tokcap_after tokenizer' -a add -d 'Compile the vocabulary in a file into the data directory, once; --tokenizer NAME then counts with it'
complete -c tokcap -n '__tokcap_after tokenizer' -a calibrate -d 'Fit a profile to the counts that a command of yours prints; --tokenizer NAME then estimates with it'
complete -c tokcap -n '__tokcap_after tokenizer' -a check -d 'Compare the tokens of files with those of the package tokenizers, and say how many are the same'
complete -c tokcap -n '__tokcap_after tokenizer' -a list -d 'List added tokenizers: name, tokens, and the digest of the file that each was compiled from'
complete -c tokcap -n '__tokcap_after tokenizer' -a remove -d 'Remove an added tokenizer, or a calibrated profile'
complete -c tokcap -n '__tokcap_after tokenizer' -a show -d 'Show where a tokenizer comes from, how it splits text, and whether its compiled files are intact'
complete -c tokcap -n '__tokcap_after hook' -a install -d 'Add the hook to the agent\'s settings; all other settings stay unchanged'
complete -c tokcap -n '__tokcap_after hook' -a list -d 'List agents: hook installed, available, or why unsupported'
complete -c tokcap -n '__tokcap_after hook' -a print -d 'Print what install would write, or a paragraph for the rules of an agent without a way in'
complete -c tokcap -n '__tokcap_after hook' -a print-env -d 'Print a start-up file for BASH_ENV: every bash -c STRING then runs under tokcap-bash'
complete -c tokcap -n '__tokcap_after hook' -a remove -d 'Remove the hook from the agent\'s settings'
complete -c tokcap -n '__tokcap_after hook' -a status -d 'Run what installed agents would run, and check that it is capped'
complete -c tokcap -n '__tokcap_after hook' -a test -d 'Say what the installed agents would do with a command'
complete -c tokcap -n '__tokcap_after completion' -a bash -d 'Print the completion script for bash'
complete -c tokcap -n '__tokcap_after completion' -a fish -d 'Print the completion script for fish'
complete -c tokcap -n '__tokcap_after completion' -a install -d 'Make a shell complete tokcap: save the script where it looks, and ask the shell whether it finds it'
complete -c tokcap -n '__tokcap_after completion' -a uninstall -d 'Remove what tokcap completion install wrote, and nothing else; without WHAT, all of it'
complete -c tokcap -n '__tokcap_after completion' -a zsh -d 'Print the completion script for zsh'
complete -c tokcap -n '__tokcap_after mcp' -a wrap -d 'Stand in front of another MCP server and cap every tool result'
complete -c tokcap -n '__tokcap_in show' -l stream -x -a 'out err' -d 'which stream of the command to read'
complete -c tokcap -n '__tokcap_in show' -l pointer -x -d 'show only the value at this JSON pointer: /items/3/body; a string is shown as plain text'
complete -c tokcap -n '__tokcap_in show' -l grep -x -d 'show only matching lines, each after its line number and token offset'
complete -c tokcap -n '__tokcap_in show' -l context -x -d 'with --grep: also show N lines before and after each match'
complete -c tokcap -n '__tokcap_in show' -s n -l token-limit -x -d 'show at most N tokens, including the mark'
complete -c tokcap -n '__tokcap_in show' -l token-offset -x -d 'start at token N of the full output'
complete -c tokcap -n '__tokcap_in show' -l token-count -d 'print only the number of tokens of the full output'
complete -c tokcap -n '__tokcap_in show' -l no-token-count -d 'turn --token-count off'
complete -c tokcap -n '__tokcap_in show' -l keep -x -a 'head tail ends focus auto' -d 'which part of an output over the limit to show'
complete -c tokcap -n '__tokcap_in show' -l focus -x -d 'show lines that match first; implies --keep focus'
complete -c tokcap -n '__tokcap_in show' -l align -x -a 'record token' -d 'cut between records (lines, rows, values) or at any token'
complete -c tokcap -n '__tokcap_in show' -l sentinel -x -d 'text of the mark; empty: no mark, and each window has exactly the limit'
complete -c tokcap -n '__tokcap_in show' -l exact-total -d 'count all tokens of an output over 64 KiB instead of estimating the total'
complete -c tokcap -n '__tokcap_in show' -l no-exact-total -d 'turn --exact-total off'
complete -c tokcap -n '__tokcap_in show' -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'cl100k_base, o200k_base, any tiktoken encoding or model name, a vocabulary added by `tokcap tokenizer add`, approx (characters / 4), or a registered plug-in'
complete -c tokcap -n '__tokcap_in show' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in show' -l shape -x -a 'auto text json jsonl csv tsv' -d 'what kind of data the output is; auto: detect it'
complete -c tokcap -n '__tokcap_in show' -l fields -x -d 'show only these keys or columns, selected before counting: a,b.c'
complete -c tokcap -n '__tokcap_in show' -l mode -x -a 'raw table summary handle_only' -d 'how much to show: the output itself, its records as a table, a summary, or one line'
complete -c tokcap -n '__tokcap_in show' -l clean -d 'remove ANSI escapes, progress frames, trailing spaces and repeated blank lines: the output as a terminal finally shows it'
complete -c tokcap -n '__tokcap_in show' -l no-clean -d 'turn --clean off'
complete -c tokcap -n '__tokcap_in show' -l store -x -d 'where every host can read stored outputs: s3://BUCKET, gs://BUCKET, az://CONTAINER, each with or without /PREFIX, or file:///DIRECTORY; the data directory then is a cache of it'
complete -c tokcap -n '__tokcap_in show' -l account -d 'log this call for tokcap stats: sizes and the program\'s name, no arguments'
complete -c tokcap -n '__tokcap_in show' -l no-account -d 'turn --account off'
complete -c tokcap -n '__tokcap_in show' -l session -x -k -a '(__tokcap_list sessions)' -d 'charge the budget of this session; see tokcap budget'
complete -c tokcap -n '__tokcap_in show' -l ledger -x -d 'where sessions are kept, for many machines: redis://HOST, rediss://HOST, unix://PATH or postgresql://HOST/DB; a password is refused here, where others can see it'
complete -c tokcap -n '__tokcap_in show' -l ledger-file -r -F -d 'a file that contains the URL for --ledger, which may then contain a password'
complete -c tokcap -n '__tokcap_in show' -l on-ledger-failure -x -a 'closed open' -d 'if the server of --ledger cannot be reached before the run: refuse with exit status 125, or (open) run uncharged with a warning, and charge the session later'
complete -c tokcap -n '__tokcap_in show' -l turn -x -d 'count this result toward a turn; a turn may take --turn-pct of the context window'
complete -c tokcap -n '__tokcap_in show' -l model -x -k -a '(__tokcap_list models)' -d 'the model that reads the output; sets context window and tokenizer: gpt-4o, claude, or a name in config.toml'
complete -c tokcap -n '__tokcap_in show' -l context-window -x -d 'size of the model\'s context window in tokens; one result may take --result-pct of it'
complete -c tokcap -n '__tokcap_in show' -l result-pct -x -d 'part of the context window that one result may take'
complete -c tokcap -n '__tokcap_in show' -l turn-pct -x -d 'part of the context window that the results of one turn may take together'
complete -c tokcap -n '__tokcap_in show' -l floor-tokens -x -d 'tokens that one result may take even if the context window is full'
complete -c tokcap -n '__tokcap_in show' -l compact-before-spill -d 'when the context is nearly full, run --compact-hook once and retry'
complete -c tokcap -n '__tokcap_in show' -l no-compact-before-spill -d 'turn --compact-before-spill off'
complete -c tokcap -n '__tokcap_in show' -l compact-hook -x -d 'shell command that compacts the model\'s context and then runs tokcap budget compacted'
complete -c tokcap -n '__tokcap_in show' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 show' -k -a '(__tokcap_list handles (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget check' -l need -x -d 'tokens that must be left; use 150 for runs with -o json'
complete -c tokcap -n '__tokcap_in budget check' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget check' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget check' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget check' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget check' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget compacted' -l used -x -d 'tokens that the context holds now'
complete -c tokcap -n '__tokcap_in budget compacted' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget compacted' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget compacted' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget compacted' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget compacted' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget end' -l tree -d 'also end the sessions below it'
complete -c tokcap -n '__tokcap_in budget end' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget end' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget end' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget end' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget end' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget history' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget history' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget history' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget history' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget list' -l tree -d 'each session below the one that it is a part of'
complete -c tokcap -n '__tokcap_in budget list' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget list' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in budget record' -l input -x -d 'tokens the model read'
complete -c tokcap -n '__tokcap_in budget record' -l output -x -d 'tokens the model wrote'
complete -c tokcap -n '__tokcap_in budget record' -l id -x -d 'record the tokens only once for this ID'
complete -c tokcap -n '__tokcap_in budget record' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget record' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget record' -s o -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget record' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget record' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget reset' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget reset' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget reset' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget reset' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget reset' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget start' -l total -x -d 'the budget in tokens; without it nothing is refused'
complete -c tokcap -n '__tokcap_in budget start' -l parent -x -k -a '(__tokcap_list sessions)' -d 'the session that this one is a part of: what it uses counts there too'
complete -c tokcap -n '__tokcap_in budget start' -l renew -x -a 'day week month' -d 'begin at 0 again in every period, by the clock in UTC'
complete -c tokcap -n '__tokcap_in budget start' -l context-window -x -d 'size of the model\'s context window in tokens'
complete -c tokcap -n '__tokcap_in budget start' -l model -x -k -a '(__tokcap_list models)' -d 'the model that reads the output; sets the context window'
complete -c tokcap -n '__tokcap_in budget start' -l result-pct -x -d 'part of the window for one result'
complete -c tokcap -n '__tokcap_in budget start' -l turn-pct -x -d 'part of the window for one turn'
complete -c tokcap -n '__tokcap_in budget start' -l floor-tokens -x -d 'tokens that one result may take even if the window is full'
complete -c tokcap -n '__tokcap_in budget start' -l shell -x -a 'sh fish' -d 'the shell that evaluates the line'
complete -c tokcap -n '__tokcap_in budget start' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget start' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget start' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget start' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget start' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget status' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget status' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget status' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget status' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget status' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in budget turn' -l shell -x -a 'sh fish' -d 'the shell that evaluates the line'
complete -c tokcap -n '__tokcap_in budget turn' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session; default: TOKCAP_SESSION'
complete -c tokcap -n '__tokcap_in budget turn' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget turn' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget turn' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in budget watch' -l every -x -d 'look again after this time'
complete -c tokcap -n '__tokcap_in budget watch' -l once -d 'show the present state and return'
complete -c tokcap -n '__tokcap_in budget watch' -l ledger -x -d 'the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml'
complete -c tokcap -n '__tokcap_in budget watch' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in budget watch' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 budget watch' -k -a '(__tokcap_list sessions (commandline -ct))'
complete -c tokcap -n '__tokcap_in completion bash' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in completion fish' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in completion install' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 completion install' -a 'bash zsh fish man'
complete -c tokcap -n '__tokcap_in completion uninstall' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 completion uninstall' -a 'bash zsh fish man'
complete -c tokcap -n '__tokcap_in completion zsh' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in count' -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'the tokenizer to count with'
complete -c tokcap -n '__tokcap_in count' -l model -x -k -a '(__tokcap_list models)' -d 'the model whose tokenizer is used'
complete -c tokcap -n '__tokcap_in count' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in count' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in count' -F
complete -c tokcap -n '__tokcap_in doctor' -l problems -d 'show only what needs attention; nothing if all is well'
complete -c tokcap -n '__tokcap_in doctor' -l write-config -d 'only write a commented config.toml, if there is none'
complete -c tokcap -n '__tokcap_in doctor' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in doctor' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in hook install' -s n -l token-limit -x -d 'tokens per result'
complete -c tokcap -n '__tokcap_in hook install' -l keep -x -a 'head tail ends focus auto' -d 'which part of an output to show'
complete -c tokcap -n '__tokcap_in hook install' -l repeat -x -a 'full mark diff' -d 'what to do with an output that was shown before'
complete -c tokcap -n '__tokcap_in hook install' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session to charge; @agent: one for each session of the agent'
complete -c tokcap -n '__tokcap_in hook install' -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'the tokenizer to count with'
complete -c tokcap -n '__tokcap_in hook install' -l model -x -k -a '(__tokcap_list models)' -d 'count with the tokenizer of this model'
complete -c tokcap -n '__tokcap_in hook install' -l tools -x -d 'other tools whose results are capped too, with commas: Read,Grep'
complete -c tokcap -n '__tokcap_in hook install' -l project -d 'use the settings of the current directory instead of the user\'s'
complete -c tokcap -n '__tokcap_in hook install' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 hook install' -a 'claude-code codex opencode pi gemini qwen copilot cline hermes vibe'
complete -c tokcap -n '__tokcap_in hook list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in hook print' -s n -l token-limit -x -d 'tokens per result'
complete -c tokcap -n '__tokcap_in hook print' -l keep -x -a 'head tail ends focus auto' -d 'which part of an output to show'
complete -c tokcap -n '__tokcap_in hook print' -l repeat -x -a 'full mark diff' -d 'what to do with an output that was shown before'
complete -c tokcap -n '__tokcap_in hook print' -l session -x -k -a '(__tokcap_list sessions)' -d 'the session to charge; @agent: one for each session of the agent'
complete -c tokcap -n '__tokcap_in hook print' -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'the tokenizer to count with'
complete -c tokcap -n '__tokcap_in hook print' -l model -x -k -a '(__tokcap_list models)' -d 'count with the tokenizer of this model'
complete -c tokcap -n '__tokcap_in hook print' -l tools -x -d 'other tools whose results are capped too, with commas: Read,Grep'
complete -c tokcap -n '__tokcap_in hook print' -l project -d 'use the settings of the current directory instead of the user\'s'
complete -c tokcap -n '__tokcap_in hook print' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 hook print' -a 'claude-code codex opencode pi gemini qwen copilot cline hermes vibe'
complete -c tokcap -n '__tokcap_in hook print-env' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in hook remove' -l project -d 'use the settings of the current directory instead of the user\'s'
complete -c tokcap -n '__tokcap_in hook remove' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 hook remove' -a 'claude-code codex opencode pi gemini qwen copilot cline hermes vibe'
complete -c tokcap -n '__tokcap_in hook status' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in hook test' -l agent -x -a 'claude-code codex opencode pi gemini qwen copilot cline hermes vibe' -d 'only this agent'
complete -c tokcap -n '__tokcap_in hook test' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in manifest' -l etag -x -d 'the etag of the manifest that the caller already has'
complete -c tokcap -n '__tokcap_in manifest' -s o -l output -x -a 'json text' -d 'format of the response'
complete -c tokcap -n '__tokcap_in manifest' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -s n -l token-limit -x -d 'maximum number of tokens in one answer'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -l keep -x -a 'head tail ends focus auto' -d 'which part of an answer over the limit to show'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -l session -x -k -a '(__tokcap_list sessions)' -d 'charge every answer to this session'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -l total -x -d 'start the session with this total; without a name it ends with the server'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'the tokenizer to count with'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -l structured -d 'answer with structured content, for clients that show nothing else'
complete -c tokcap -n '__tokcap_in mcp; and not __tokcap_in mcp wrap' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in mcp wrap' -s n -l token-limit -x -d 'maximum number of tokens in one answer'
complete -c tokcap -n '__tokcap_in mcp wrap' -l keep -x -a 'head tail ends focus auto' -d 'which part of an answer over the limit to show'
complete -c tokcap -n '__tokcap_in mcp wrap' -l session -x -k -a '(__tokcap_list sessions)' -d 'charge every answer to this session'
complete -c tokcap -n '__tokcap_in mcp wrap' -l total -x -d 'start the session with this total; without a name it ends with the server'
complete -c tokcap -n '__tokcap_in mcp wrap' -l tokenizer -x -k -a '(__tokcap_list tokenizers)' -d 'the tokenizer to count with'
complete -c tokcap -n '__tokcap_in mcp wrap' -l clean -d 'remove ANSI escapes, progress frames and trailing spaces from results'
complete -c tokcap -n '__tokcap_in mcp wrap' -l redact -d 'mask what looks like a secret in results, and in what is stored'
complete -c tokcap -n '__tokcap_in mcp wrap' -l url -x -d 'a server over HTTP instead of a command'
complete -c tokcap -n '__tokcap_in mcp wrap' -l header -x -d 'with --url: send this header; ${NAME} is a variable, @FILE a file with headers; repeatable'
complete -c tokcap -n '__tokcap_in mcp wrap' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill gc' -l shared -d 'clean the store that all hosts read, by age only, instead of this host'
complete -c tokcap -n '__tokcap_in spill gc' -l store -x -d 'the store that all hosts read; default: TOKCAP_STORE, or config.toml'
complete -c tokcap -n '__tokcap_in spill gc' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in spill gc' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill list' -l shared -d 'list what all hosts can read, by handle, age and size only'
complete -c tokcap -n '__tokcap_in spill list' -l store -x -d 'the store that all hosts read; default: TOKCAP_STORE, or config.toml'
complete -c tokcap -n '__tokcap_in spill list' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in spill list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill path' -l stream -x -a 'out err' -d 'which stream of the command'
complete -c tokcap -n '__tokcap_in spill path' -l store -x -d 'the store that all hosts read; default: TOKCAP_STORE, or config.toml'
complete -c tokcap -n '__tokcap_in spill path' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in spill path' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 spill path' -k -a '(__tokcap_list handles (commandline -ct))'
complete -c tokcap -n '__tokcap_in spill rm' -l all -d 'remove every output on this host'
complete -c tokcap -n '__tokcap_in spill rm' -l shared -d 'with --all: remove every output in the store that all hosts read, too'
complete -c tokcap -n '__tokcap_in spill rm' -l store -x -d 'the store that all hosts read; default: TOKCAP_STORE, or config.toml'
complete -c tokcap -n '__tokcap_in spill rm' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in spill rm' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in spill rm' -k -a '(__tokcap_list handles (commandline -ct))'
complete -c tokcap -n '__tokcap_in stats' -l by -x -a 'day command session' -d 'show only this table, with all of its rows; default: all three'
complete -c tokcap -n '__tokcap_in stats' -l since -x -d 'from 2026-11-01 on, or the last 7d or 2w, including today'
complete -c tokcap -n '__tokcap_in stats' -l plot -r -F -d 'also draw a chart, to FILE.png or FILE.svg (needs matplotlib)'
complete -c tokcap -n '__tokcap_in stats' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in stats' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in tokenizer add' -l pre-split -x -d 'the pattern of a .tiktoken table: cl100k_base, o200k_base, llama3, qwen2, gpt2, ...'
complete -c tokcap -n '__tokcap_in tokenizer add' -l slow -d 'do not compile it: the package tokenizers counts, and takes seconds to load'
complete -c tokcap -n '__tokcap_in tokenizer add' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in tokenizer add' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 1 tokenizer add' -F
complete -c tokcap -n '__tokcap_in tokenizer calibrate' -l counter -x -d 'a shell command that reads a text and prints its number of tokens'
complete -c tokcap -n '__tokcap_in tokenizer calibrate' -l texts -x -d 'count at most N texts of about 4,000 characters'
complete -c tokcap -n '__tokcap_in tokenizer calibrate' -l timeout -x -d 'how long the command may take for one text'
complete -c tokcap -n '__tokcap_in tokenizer calibrate' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in tokenizer calibrate' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in tokenizer calibrate' -F
complete -c tokcap -n '__tokcap_in tokenizer check' -l source -r -F -d 'the file that it was compiled from, if that was moved'
complete -c tokcap -n '__tokcap_in tokenizer check' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in tokenizer check' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 tokenizer check' -k -a '(__tokcap_list added (commandline -ct))'
complete -c tokcap -n '__tokcap_in tokenizer check' -F
complete -c tokcap -n '__tokcap_in tokenizer list' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in tokenizer list' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_in tokenizer remove' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in tokenizer remove' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 tokenizer remove' -k -a '(__tokcap_list added (commandline -ct))'
complete -c tokcap -n '__tokcap_in tokenizer show' -s o -l output -x -a 'text json jsonl' -d 'format of the response'
complete -c tokcap -n '__tokcap_in tokenizer show' -s h -l help -d 'show this help'
complete -c tokcap -n '__tokcap_place 0 tokenizer show' -k -a '(__tokcap_list added (commandline -ct))'
complete -c tokcap -n 'not contains -- (commandline -opc)[2] show budget completion count doctor hook manifest mcp spill stats tokenizer' -a '(__tokcap_complete_command)'
