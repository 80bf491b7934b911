"""Command lines that a stand-in for a shell may get wrong. Each must give the bytes and status of the shell.

None of them prints what differs from run to run: process ids, times, the parent.
"""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """The arguments of a shell, and what it reads."""

    words: tuple[str, ...]
    stdin: bytes = b""
    # What the descriptor 3 of the shell reads.
    third: bytes | None = None
    variables: tuple[tuple[str, str], ...] = ()


def c(string: str, **more) -> Line:
    """A string, as most callers give it."""
    return Line(("-c", string), **more)


QUOTES = {
    "single quotes": c("echo 'a  b' 'it'\\''s'"),
    "double quotes": c('x="a  b"; echo "$x" $x "${x}\'s" "\\$x \\`"'),
    "nested quotes": c("""echo "a 'b "c d" e' f" 'g "h" i' """),
    "dollar single quotes": c(r"printf '%s' $'a\tb\x01\u00e9\n\'q'"),
    "dollar double quotes": c('echo $"translated"'),
    "backticks": c("echo `echo \\`echo inner\\``"),
    "nested substitutions": c('echo "$(echo "$(echo "a b")" "$(echo \'c\')")"'),
    "a backslash and a newline": c("echo one \\\n two"),
    "several lines": c("echo one\necho two\n\n# a comment\necho three"),
    "carriage returns": c("printf 'a\\r\\nb\\r'"),
    "a heredoc": c('x=1; cat <<E\n$x `echo 2` "q"\nE\necho after'),
    "a quoted heredoc": c("cat <<'E'\n$x `echo` \\ \nE"),
    "a heredoc with tabs": c("cat <<-E\n\t\tindented\n\tE\necho done"),
    "two heredocs": c("cat <<A; cat <<B\na\nA\nb\nB"),
    "a here string": c('cat <<< "$HOME_NOT_SET a\'b"'),
    "an unfinished heredoc": c("cat <<E\nno end"),
    "eval": c('eval \'x="a b"; echo "$x"\'; eval "eval \'echo deep\'"'),
    "braces": c("echo {a,b}{1..3} {,x} ${PWD:+set}"),
    "arithmetic": c("echo $((1 << 40)) $((16#ff)); ((0)); echo $?"),
    "history characters": c("echo a!b '!!' \"!$\""),
    "only a comment": c("# nothing"),
    "an empty string": c(""),
    "only a newline": c("\n"),
    "a leading dash": Line(("-c", "--", "echo dashes")),
    "a string that begins with a dash": Line(("-c", "--", "-x; echo $?")),
}

VALUES = {
    "arrays": c('a=(x "y z" w); echo "${#a[@]}" "${a[1]}" "${a[@]:1}"; unset "a[0]"; echo "${!a[@]}"'),
    "associative arrays": c('declare -A m=([k]=v ["a b"]=c); echo "${m[a b]}" "${#m[@]}"'),
    "globs with odd names": c("printf '<%s>\\n' *"),
    "a glob without a match": c("echo *.none; shopt -s nullglob; echo *.none"),
    "extended globs": Line(("-O", "extglob", "-c", "echo !(a*|b*)")),
    "extended globs off": Line(("+O", "extglob", "-c", "shopt extglob; echo done")),
    "a name with a newline": c("cat 'new\nline'"),
    "unicode": c("x='héllo wörld 日本語 🙂'; echo \"$x\" ${#x}"),
    "bytes that are not UTF-8": c(r"printf '\xff\xfe\x80 ok\n'"),
    "NUL bytes": c(r"printf 'a\0b\0'"),
    "binary output": c("head -c 300 /bin/sh"),
    "no newline at the end": c("printf 'no newline'"),
    "nothing at all": c("printf ''"),
    "only stderr": c("echo oops >&2"),
    "only newlines": c("printf '\\n\\n\\n'"),
    "escape sequences": c(r"printf '\e[31mred\e[0m\n'"),
    "a very long argument": Line(("-c", "echo ${#1}; printf '%s' \"${1:0:5}\"", "name", "x" * 100_000)),
    "many arguments": Line(("-c", 'echo $#; echo "${@: -1}"', "name", *map(str, range(3000)))),
    "arguments and a name": Line(("-c", 'echo "$0|$1|$2|$#|$*"', "my name", "a b", "")),
    "an argument that looks like an option": Line(("-c", 'echo "$0" "$@"', "-n", "--help", "-c")),
    "a locale": c("LC_ALL=C printf '%s\\n' b A a | LC_ALL=C sort; LC_ALL=C; echo ${#x}"),
    "a variable of the caller": c('echo "$GREETING"', variables=(("GREETING", "a  b\nc"),)),
    "an environment without a path": c("PATH=; echo builtin; nosuch"),
    "an exported function": c("f() { echo in f \"$1\"; }; export -f f; bash -c 'f x'"),
    "an indirect variable": c("a=b b=c; echo ${!a} ${a@Q}"),
    "printf -v": c("printf -v x '%03d' 7; echo $x"),
    "read with a delimiter": c("printf 'a:b:c' | while IFS= read -r -d: x; do echo \"<$x>\"; done"),
    "mapfile": c("mapfile -t l < <(seq 3); echo ${#l[@]} ${l[2]}"),
    "dollar underscore": c('echo "$_"; true x; echo "$_"'),
    "flags of the shell": c('echo "$-"; set -o | grep -c on; shopt | grep -c on'),
    "the shell's own name": c('echo "$0 $BASH $SHLVL $BASH_SUBSHELL"'),
    "the string itself": c('echo "$BASH_EXECUTION_STRING"'),
}

ERRORS = {
    "a syntax error": c("if then"),
    "an unfinished quote": c("echo 'a"),
    "a command that does not exist": c("nosuchcommand; echo $?"),
    "a file that cannot be executed": c("./a-file; echo $?"),
    "a directory as a command": c("/; echo $?"),
    "an unset variable": Line(("-u", "-c", "echo $unset; echo never")),
    "errexit": Line(("-e", "-c", "echo one; false; echo never")),
    "errexit and pipefail": Line(("-eo", "pipefail", "-c", "true | true; false | cat; echo never")),
    "bundled options": Line(("-euo", "pipefail", "-c", "x=1; echo $x; echo $y")),
    "options one by one": Line(("-e", "-u", "-o", "pipefail", "-c", "echo $-; false")),
    "set in the string": c("set -euo pipefail; echo a; (exit 7); echo never"),
    "no start-up files": Line(("--norc", "--noprofile", "-c", "echo plain; exit 9")),
    "a login shell": Line(("-l", "-c", "shopt -q login_shell; echo login $?")),
    "login and string in one word": Line(("-lc", "echo login; exit 4")),
    "string before login": Line(("-c", "-l", "echo both; exit 5")),
    "posix mode": Line(("--posix", "-c", "set -o | grep posix")),
    "an unknown option": Line(("--nosuchoption", "-c", "echo")),
    "a missing string": Line(("-c",)),
    "a script that does not exist": Line(("nosuchscript", "a")),
    "status 255": c("exit 255"),
    "status 256 is 0": c("exit 256"),
    "status of a pipe": c("true | exit 3; echo ${PIPESTATUS[@]}; exit 3 | true"),
    "status of the last command": c("false"),
    "status 125": c("exit 125"),
    "killed by KILL": c("echo before; kill -9 $$; echo never"),
    "killed by TERM": c("echo before; kill $$; echo never"),
    "killed by a broken pipe": c("kill -PIPE $$"),
    "killed by an abort": c("ulimit -c 0; kill -ABRT $$"),
    "a child that was killed": c("{ bash -c 'kill -9 $$'; echo $?; } 2> /dev/null"),
    "an exec that fails": c("exec nosuchcommand; echo never"),
    "a redirection that fails": c("echo a > /nosuch/dir; echo $?"),
    "limited memory": c("ulimit -v 200000; ulimit -v; echo ok"),
    "limited descriptors": c("ulimit -n 64; ulimit -n"),
    "a umask": c("umask 027; umask; touch made; stat -c %a made"),
    "a signal that is ignored": c("trap '' TERM; kill $$; echo survived"),
    "the whole group": c("echo before; kill 0; sleep 5; echo never"),
}

STREAMS = {
    "both streams in turn": c("for i in 1 2 3; do echo out $i; echo err $i >&2; done"),
    "streams swapped": c("{ echo a; echo b >&2; } 3>&1 1>&2 2>&3"),
    "stderr into stdout": c("{ echo a; echo b >&2; } 2>&1 | cat"),
    "stdout closed": c("exec >&-; echo a; echo status $? >&2"),
    "stderr closed": c("exec 2>&-; nosuch; echo $?"),
    "a file by exec": c("exec 5>made; echo in file >&5; exec 5>&-; cat made"),
    "stdout into a file by exec": c("exec > made; echo hidden; cat made >&2"),
    "standard input": c('read -r a; echo "<$a>"; cat', stdin=b"first\nsecond\nthird"),
    "standard input that nobody reads": c("echo ignored", stdin=b"data\n" * 1000),
    "standard input of NUL bytes": c("od -c | head -2", stdin=b"a\0b\n"),
    "another descriptor": c("cat <&3; echo done", third=b"from three\n"),
    "another descriptor in a child": c("bash -c 'cat <&3'", third=b"from three\n"),
    "the open descriptors": c(
        "ls /proc/self/fd | wc -l; for n in /proc/$$/fd/*; do echo ${n##*/}; done | head -3"
    ),
    "process substitution": c("cat <(echo a) <(echo b); diff <(echo a) <(echo a) && echo same"),
    "output by process substitution": c(
        "echo kept > >(cat > made; echo wrote >> log); sleep 0.3; cat made log"
    ),
    "a coprocess": c(
        'coproc cat; echo hi >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"; kill $COPROC_PID'
    ),
    "tee and a pipe": c("echo x | tee made | tr x y; cat made"),
    "a reader that stops": c("yes | head -2; echo ${PIPESTATUS[0]}"),
    "the script from standard input": Line(("-s", "word"), b"echo $1\nexit 6\n"),
    "no arguments": Line((), b"echo from stdin\necho err >&2\nfalse\n"),
    "a script file": Line(("./script", "a b", "c")),
    "a script with options": Line(("-e", "./script", "x")),
    "a dash before the script": Line(("--", "./script", "y")),
    "a file as standard output of a part": c("{ echo a; echo b; } > made; wc -l < made"),
    "append and clobber": c("set -C; echo a > new; echo b > new; echo c >| new; echo d >> new; cat new"),
}

CONTROL = {
    "an exit trap": c("trap 'echo bye $?' EXIT; echo hi; exit 3"),
    "an error trap": c("trap 'echo failed at $LINENO' ERR; false; true; false"),
    "a signal trap": c("trap 'echo got it' USR1; kill -USR1 $$; echo after"),
    "an interrupt trap": c("trap 'echo interrupted; exit 8' INT; kill -INT $$; echo never"),
    "a trap in a subshell": c("(trap 'echo sub' EXIT; exit 2); echo $?"),
    "a debug trap": c("trap 'echo -n .' DEBUG; true; true"),
    "a subshell's exit": c("(exit 4) || echo $?; (cd /; pwd); pwd | wc -l"),
    "background and wait": c("(sleep 0.1; exit 5) & wait $!; echo $?"),
    "two in the background": c("(echo a; exit 1) & wait; (exit 2) & wait $!; echo $?"),
    "wait for any": c("(exit 3) & wait -n; echo $?"),
    "a disowned process": c("sleep 0.4 & disown; echo started"),
    "later output": c("(sleep 0.4; echo later; echo and err >&2) & echo first"),
    "nohup": c("nohup sleep 0.2 > /dev/null 2>&1 & echo started"),
    "job control": c("set -m; sleep 0.1 & jobs | wc -l; wait; echo done"),
    "exec of a program": c("exec printf '%s\\n' replaced"),
    "exec with another name": c("exec -a other sh -c 'echo $0'"),
    "time": c("TIMEFORMAT=; time true; echo $?"),
    "recursion": c("f() { (($1)) && { echo $1; f $(($1 - 1)); }; return 0; }; f 5"),
    "a return status of a function": c("f() { return 200; }; f; echo $?"),
    "select and case": c("case a.b in *.b) echo yes;& x) echo through;; esac"),
    "a loop over lines": c("seq 3 | while read -r n; do echo $((n * n)); done; echo $n."),
    "the working directory": c("cd sub && pwd -P >| ../where; cat ../where | wc -l"),
    "sourcing a file": c("source ./functions && hello you"),
    "an alias": c("shopt -s expand_aliases\nalias hi='echo aliased'\nhi there"),
    "getopts": Line(("-c", 'while getopts ab: o; do echo "$o $OPTARG"; done', "x", "-a", "-b", "v")),
    "a snapshot as agents have it": c(
        "source ./functions 2>/dev/null || true && eval 'hello world' \\< /dev/null && pwd -P >| where;"
        " cat where | wc -l"
    ),
    "xtrace": Line(("-x", "-c", "echo traced")),
    "verbose": c("set -v; echo verbose"),
    "interactive": Line(("--norc", "-i", "-c", "echo interactive")),
    "nested shells": c("bash -c 'bash -c \"echo deep; exit 3\"; echo $?'; sh -c 'echo sh'"),
    "a start-up file of the caller": c("echo ${FROM_ENV-unset}", variables=(("BASH_ENV", "./environment"),)),
}

BASH = {**QUOTES, **VALUES, **ERRORS, **STREAMS, **CONTROL}

ZSH = {
    "quotes": c("echo 'a  b' \"c $((1 + 2))\" $'d\\te'"),
    "a heredoc": c("cat <<E\n$((6 * 7))\nE"),
    "arrays": c('a=(x "y z"); echo $a[2] ${#a} "${(j:,:)a}"'),
    "words are not split": c('x="a  b"; printf "<%s>" $x'),
    "globs with qualifiers": c("print -l *(/) *(.om[1]N) | wc -l"),
    "a glob without a match": c("echo *.none"),
    "arguments and a name": Line(("-c", 'echo "$0|$1|$#"', "name", "a b")),
    "no start-up files": Line(("-f", "-c", "echo plain")),
    "a login shell": Line(("-lc", "[[ -o login ]]; echo $?")),
    "string before login": Line(("-c", "-l", "[[ -o login ]]; echo $?")),
    "an option": Line(("-o", "extendedglob", "-c", "[[ -o extendedglob ]]; echo $?")),
    "errexit": Line(("-ec", "echo a; false; echo never")),
    "a command that does not exist": c("nosuchcommand; echo $?"),
    "a syntax error": c("if then fi"),
    "an exit trap": c("trap 'echo bye' EXIT; exit 3"),
    "an exit function": c("TRAPEXIT() { print end }; print start"),
    "killed by KILL": c("print before; kill -9 $$"),
    "killed by TERM": c("print before; kill $$; sleep 1"),
    "both streams in turn": c("for i in 1 2 3; do print out $i; print err $i >&2; done"),
    "several outputs": c("print twice > made > /dev/stdout; cat made"),
    "process substitution": c("cat <(print a) =(print b)"),
    "a coprocess": c("coproc cat; print -p hi; read -rp x; print $x"),
    "background and wait": c("(sleep 0.1; exit 5) & wait $!; echo $?"),
    "a disowned process": c("sleep 0.4 &!; echo started"),
    "later output": c("(sleep 0.4; echo later) &! echo first"),
    "standard input": c("read -r a; cat", stdin=b"first\nsecond\n"),
    "another descriptor": c("cat <&3", third=b"from three\n"),
    "the script from standard input": Line(("-s", "word"), b"echo $1\nexit 6\n"),
    "a script file": Line(("./script", "a b")),
    "the shell's own name": c('echo "$0 $ZSH_NAME $SHLVL"'),
    "unicode": c("x='héllo 日本語'; echo $x ${#x}"),
    "NUL bytes": c("printf 'a\\0b'"),
}

# One for each thing that a stand-in handles itself: words, streams, descriptors, signals, processes.
EVERYDAY = {
    *("nested quotes", "an empty string", "a string that begins with a dash", "extended globs"),
    *("bytes that are not UTF-8", "only stderr", "many arguments", "arguments and a name"),
    *("an argument that looks like an option", "a variable of the caller", "dollar underscore"),
    *(
        "flags of the shell",
        "the shell's own name",
        "a syntax error",
        "errexit and pipefail",
        "a login shell",
    ),
    *("string before login", "an unknown option", "a missing string", "status 125", "killed by KILL"),
    *("killed by TERM", "a signal that is ignored", "a umask", "the whole group", "both streams in turn"),
    *("stdout closed", "stderr closed", "standard input", "another descriptor", "the open descriptors"),
    *("the script from standard input", "no arguments", "a script file", "an exit trap", "an interrupt trap"),
    *("later output", "a disowned process", "exec of a program", "interactive"),
    "a start-up file of the caller",
}
EVERYDAY_IN_ONE_PIPE = {
    *("both streams in turn", "streams swapped", "stdout closed", "stderr closed", "killed by TERM"),
    *("a syntax error", "later output", "the whole group", "NUL bytes"),
}
EVERYDAY_AT_START_UP = {
    *("nested quotes", "an empty string", "arguments and a name", "dollar underscore", "flags of the shell"),
    *("the shell's own name", "errexit and pipefail", "string before login", "a missing string"),
    *("killed by KILL", "both streams in turn", "the script from standard input", "a script file"),
    *("an exit trap", "interactive"),
}
EVERYDAY_ZSH = {
    *("quotes", "arguments and a name", "string before login", "an option", "killed by TERM"),
    *("both streams in turn", "later output", "standard input", "a script file", "the shell's own name"),
}
EVERYDAY_ZSH_IN_ONE_PIPE = {"both streams in turn", "killed by TERM"}
