"""Command lines that a stand-in for a shell may get wrong: words, streams, descriptors, signals, processes.

The syntax of the shell itself is not among them, because every word reaches it as it stands. Each line must
give the bytes and status of the shell. None prints what differs from run to run, such as process ids.
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


STRINGS = {
    "nested quotes": c("""echo "a 'b "c d" e' f" 'g "h" i' """),
    "an unfinished heredoc": c("cat <<E\nno end"),
    "an empty string": c(""),
    "a leading dash": Line(("-c", "--", "echo dashes")),
    "a string that begins with a dash": Line(("-c", "--", "-x; echo $?")),
}

VALUES = {
    "extended globs": Line(("-O", "extglob", "-c", "echo !(a*|b*)")),
    "bytes that are not UTF-8": c(r"printf '\xff\xfe\x80 ok\n'"),
    "NUL bytes": c(r"printf 'a\0b\0'"),
    "binary output": c("head -c 300 /bin/sh"),
    "no newline at the end": c("printf 'no newline'"),
    "only stderr": c("echo oops >&2"),
    "a very long argument": Line(("-c", "echo ${#1}; printf '%s' \"${1:0:5}\"", "name", "x" * 100_000)),
    "many arguments": Line(("-c", 'echo $#; echo "${@: -1}"', "name", *map(str, range(3000)))),
    "arguments and a name": Line(("-c", 'echo "$0|$1|$2|$#|$*"', "my name", "a b", "")),
    "an argument that looks like an option": Line(("-c", 'echo "$0" "$@"', "-n", "--help", "-c")),
    "a variable of the caller": c('echo "$GREETING"', variables=(("GREETING", "a  b\nc"),)),
    "dollar underscore": c('echo "$_"; true x; echo "$_"'),
    "flags of the shell": c('echo "$-"; set -o | grep -c on; shopt | grep -c on'),
    "the shell's own name": c('echo "$0 $BASH $SHLVL $BASH_SUBSHELL"'),
    "the string itself": c('echo "$BASH_EXECUTION_STRING"'),
}

ERRORS = {
    "a syntax error": c("if then"),
    "an unfinished quote": c("echo 'a"),
    "an unset variable": Line(("-u", "-c", "echo $unset; echo never")),
    "errexit and pipefail": Line(("-eo", "pipefail", "-c", "true | true; false | cat; echo never")),
    "bundled options": Line(("-euo", "pipefail", "-c", "x=1; echo $x; echo $y")),
    "no start-up files": Line(("--norc", "--noprofile", "-c", "echo plain; exit 9")),
    "a login shell": Line(("-l", "-c", "shopt -q login_shell; echo login $?")),
    "login and string in one word": Line(("-lc", "echo login; exit 4")),
    "string before login": Line(("-c", "-l", "echo both; exit 5")),
    "an unknown option": Line(("--nosuchoption", "-c", "echo")),
    "a missing string": Line(("-c",)),
    "a script that does not exist": Line(("nosuchscript", "a")),
    "status 255": c("exit 255"),
    "status 125": c("exit 125"),
    "killed by KILL": c("echo before; kill -9 $$; echo never"),
    "killed by TERM": c("echo before; kill $$; echo never"),
    "killed by a broken pipe": c("kill -PIPE $$"),
    "limited memory": c("ulimit -v 200000; ulimit -v; echo ok"),
    "a umask": c("umask 027; umask; touch made; stat -c %a made"),
    "a signal that is ignored": c("trap '' TERM; kill $$; echo survived"),
    "the whole group": c("echo before; kill 0; sleep 5; echo never"),
}

STREAMS = {
    "both streams in turn": c("for i in 1 2 3; do echo out $i; echo err $i >&2; done"),
    "streams swapped": c("{ echo a; echo b >&2; } 3>&1 1>&2 2>&3"),
    "stdout closed": c("exec >&-; echo a; echo status $? >&2"),
    "stderr closed": c("exec 2>&-; nosuch; echo $?"),
    "standard input": c('read -r a; echo "<$a>"; cat', stdin=b"first\nsecond\nthird"),
    "standard input that nobody reads": c("echo ignored", stdin=b"data\n" * 1000),
    "another descriptor": c("cat <&3; echo done", third=b"from three\n"),
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
    "a reader that stops": c("yes | head -2; echo ${PIPESTATUS[0]}"),
    "the script from standard input": Line(("-s", "word"), b"echo $1\nexit 6\n"),
    "no arguments": Line((), b"echo from stdin\necho err >&2\nfalse\n"),
    "a script file": Line(("./script", "a b", "c")),
    "a script with options": Line(("-e", "./script", "x")),
}

CONTROL = {
    "an exit trap": c("trap 'echo bye $?' EXIT; echo hi; exit 3"),
    "a signal trap": c("trap 'echo got it' USR1; kill -USR1 $$; echo after"),
    "an interrupt trap": c("trap 'echo interrupted; exit 8' INT; kill -INT $$; echo never"),
    "background and wait": c("(sleep 0.1; exit 5) & wait $!; echo $?"),
    "a disowned process": c("sleep 0.4 & disown; echo started"),
    "later output": c("(sleep 0.4; echo later; echo and err >&2) & echo first"),
    "job control": c("set -m; sleep 0.1 & jobs | wc -l; wait; echo done"),
    "exec of a program": c("exec printf '%s\\n' replaced"),
    "the working directory": c("cd sub && pwd -P >| ../where; cat ../where | wc -l"),
    "a snapshot as agents have it": c(
        "source ./functions 2>/dev/null || true && eval 'hello world' \\< /dev/null && pwd -P >| where;"
        " cat where | wc -l"
    ),
    "xtrace": Line(("-x", "-c", "echo traced")),
    "interactive": Line(("--norc", "-i", "-c", "echo interactive")),
    "nested shells": c("bash -c 'bash -c \"echo deep; exit 3\"; echo $?'; sh -c 'echo sh'"),
    "a start-up file of the caller": c("echo ${FROM_ENV-unset}", variables=(("BASH_ENV", "./environment"),)),
}

BASH = {**STRINGS, **VALUES, **ERRORS, **STREAMS, **CONTROL}

ZSH = {
    "quotes": c("echo 'a  b' \"c $((1 + 2))\" $'d\\te'"),
    "arguments and a name": Line(("-c", 'echo "$0|$1|$#"', "name", "a b")),
    "no start-up files": Line(("-f", "-c", "echo plain")),
    "a login shell": Line(("-lc", "[[ -o login ]]; echo $?")),
    "string before login": Line(("-c", "-l", "[[ -o login ]]; echo $?")),
    "an option": Line(("-o", "extendedglob", "-c", "[[ -o extendedglob ]]; echo $?")),
    "an exit trap": c("trap 'echo bye' EXIT; exit 3"),
    "killed by KILL": c("print before; kill -9 $$"),
    "killed by TERM": c("print before; kill $$; sleep 1"),
    "both streams in turn": c("for i in 1 2 3; do print out $i; print err $i >&2; done"),
    "process substitution": c("cat <(print a) =(print b)"),
    "a coprocess": c("coproc cat; print -p hi; read -rp x; print $x"),
    "a disowned process": c("sleep 0.4 &!; echo started"),
    "later output": c("(sleep 0.4; echo later) &! echo first"),
    "standard input": c("read -r a; cat", stdin=b"first\nsecond\n"),
    "another descriptor": c("cat <&3", third=b"from three\n"),
    "the script from standard input": Line(("-s", "word"), b"echo $1\nexit 6\n"),
    "a script file": Line(("./script", "a b")),
    "the shell's own name": c('echo "$0 $ZSH_NAME $SHLVL"'),
    "NUL bytes": c("printf 'a\\0b'"),
}
