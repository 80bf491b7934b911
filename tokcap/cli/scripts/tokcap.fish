# fish completion for tokcap, which answers itself what can follow

function __tokcap_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    # Use env: if a program cannot be started, fish itself writes to the terminal in spite of redirection.
    set -l answer (command env $program completion words -- $words[2..] "$current" 2>/dev/null </dev/null)
    set -l kind (string split ' ' -- $answer[1])
    switch "$kind[1]"
        case command
            set -l first (math $kind[2] + 1)
            complete --do-complete=(string join -- ' ' (string escape -- $words[$first..]) $current)
        case files
            __fish_complete_path $current
    end
    set -q answer[2]
    and printf '%s\n' $answer[2..]
end

complete -c tokcap -f -k -a '(__tokcap_complete)'
