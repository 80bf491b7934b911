"""Write the man page beside this file, in mdoc(7) macros: `python man/generate.py`.

What is said of each option comes from the grammar table, the rest stands here.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tokcap.envelope import Meta
from tokcap.options import OPTIONS, SUBCOMMANDS, Choice, Option, Switch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Changed by hand when the page says something new: the same table gives the same page on any day.
DATE = "November 16, 2026"

# mandoc complains of longer lines.
WIDTH = 79

HEAD = r"""
.Dd @date@
.Dt TOKCAP 1
.Os
.Sh NAME
.Nm tokcap
.Nd cap the output of a command by exact tokens
.Sh SYNOPSIS
.Nm
.Op Ar options
.Op Fl -
.Ar command
.Op Ar argument ...
.Nm
.Op Ar options
.Fl c Ar string
.Op Ar name Op Ar argument ...
.Nm
.Op Ar options
.Nm
.Cm show
.Ar handle
.Op Ar options
.Nm
.Cm spill list | path | rm | gc
.Op Ar handle ...
.Nm
.Cm budget
.Ar command
.Op Ar session
.Nm
.Cm doctor
.Op Fl -write-config
.Op Fl o Ar form
.Nm
.Cm hook list | install | remove | print
.Op Ar agent
.Nm
.Cm completion
.Cm bash | zsh | fish
.Nm
.Fl h | V
.Sh DESCRIPTION
.Nm
runs
.Ar command ,
or reads standard input if none is given.
It counts the output in the tokens that a language model pays for, and passes
on no more of it than
.Fl -token-limit
allows.
What is written, mark included, never has more tokens than that.
Without a limit everything is passed on.
.Pp
Arguments reach
.Ar command
verbatim.
It runs to its end whatever the limit, and its exit status becomes that of
.Nm .
With neither a command nor anything piped into it,
.Nm
prints its usage and exits with status 125.
.Pp
What is withheld is stored, and
.Nm
.Cm show
reads it without running the command again: see
.Sx THE STORE .
.Pp
.Nm
.Cm completion
prints a completion script for a shell.
Behind the options of
.Nm
it completes as
.Ar command
itself does.
.Sh OPTIONS
Options end at
.Fl -
or at the first word that is no option; from there on every word belongs to
.Ar command .
The words
@subcommands@
are kept for
.Nm
itself: to run a program of such a name, write
.Fl -
before it.
.Pp
A value may be the next word or be attached:
.Fl -token-limit Ar 500 ,
.Fl -token-limit Ns = Ns Ar 500 ,
.Fl n Ar 500
and
.Fl n Ns Ar 500
are the same.
Of an option given twice, the last one counts.
A bad value is refused before anything runs.
"""

OTHER_OPTIONS = r"""
.Ss Other
.Bl -tag -width indent
.It Fl h , Fl -help
Show all options.
.It Fl V , Fl -version
Show the version.
.El
"""

WINDOWS = r"""
.Sh WINDOWS
A window is what is shown of an output that is larger than the limit.
It begins at the token that
.Fl -token-offset
names, the first token being 0.
It ends between two lines, at a place where a token ends too.
A line is split only if it does not fit whole into any window of that limit, or
with
.Fl -align Cm token ;
never inside a character.
An output that fits is passed on byte for byte.
An offset at or behind the end gives an empty window, which is no error.
.Pp
Where something was left out stands the mark, a line of its own that says what
is shown and where the next window begins:
.Bd -literal -offset indent
[TRUNCATED] tokens 0\-28 of 600; next: \c
tokcap show 966cd5cc777b \-\-token\-offset 28
.Ed
.Pp
The mark is part of the limit.
A window is therefore a little shorter than the limit.
To go on, run the command that the mark names; its offset is
.Va next_offset
in a JSON response.
With
.Fl -spill Cm never
the mark names the offset only.
Windows fetched so, without their marks, join to the original output, byte for
byte.
.Pp
If the limit is too small, the mark shrinks to its bare text, and then is left
out; the limit holds in any case.
With an empty
.Fl -sentinel
there is no mark at all.
.Pp
.Fl -keep Cm tail
shows the end instead of the beginning, and
.Fl -keep Cm ends
shows both, with the mark in between:
.Bd -literal -offset indent
[TRUNCATED] tokens 14\-592 of 600 (289 lines) hidden; next: \c
tokcap show 966cd5cc777b \-\-token\-offset 14
.Ed
.Pp
One limit covers standard output and standard error of a command.
A quarter of it is kept for standard error as long as that needs it, and what is
too long there keeps both its ends.
.Pp
A payload that is valid JSON as a whole, a sequence of JSON objects and
arrays, or plainly a table of comma- or tab-separated values is cut as that,
so that it stays valid;
.Fl -shape
says what it is instead.
Values, rows and keys are copied as they stand.
In JSON the mark is the last element of the array, or the last member of the
object, that is cut; between JSON values it is a line
.Ql {"[TRUNCATED]":true} ,
and in a table a row.
Windows of a table repeat its header.
A value that is too long for any window becomes the mark, and a warning gives
its place and size.
.Va next_offset
is the token in which the first value begins that is not shown.
.Pp
Bytes that are not UTF-8 are counted as their replacement text, and written as
they are.
"""

COMMAND = r"""
.Sh THE COMMAND
.Fl c Ar string
runs a string as
.Ql sh -c
does; flags for the shell may stand before it or be bundled with it:
.Fl lc .
The shell is
.Pa /bin/sh ,
or what
.Ev TOKCAP_SHELL
names.
.Nm tokcap-sh
takes the words of a shell, and can be given as
.Ev SHELL .
.Pp
What is sent to
.Nm
alone (TERM, INT, HUP, QUIT, USR1, USR2, TSTP, CONT) is handed on to the
command, once.
The first Ctrl-C is left to the command; the second ends it and all that it has
started, the third kills them.
After a signal the answer is still made, and what is withheld is still stored.
A grandchild that keeps the output open does not hold
.Nm .
.Pp
Text is passed on while it is certain to be inside the window.
When nothing has been shown for two seconds and standard error is a terminal,
one line tells how much has come so far.
.Pp
.Nm
.Cm hook install Ar agent
puts a hook into the settings of a coding agent, so that its shell commands run
under
.Nm .
The hook gives no approval, and leaves alone every command whose text a
permission rule may look at;
.Nm
.Cm hook list
says for which agents that can be kept.
.Pp
.Nm
.Cm doctor
examines what is installed, stored and set: versions, vocabularies, the data
directory, stored outputs, sessions, hooks, completions, variables, and every
setting with the place that it comes from.
It says what to do about each finding, and changes nothing itself.
The exit status is 1 if something is wrong.
With
.Fl -write-config
it writes a commented
.Pa config.toml
instead, where there is none yet, and prints its path.
"""

STORE = r"""
.Sh THE STORE
An output of which anything is withheld is stored, both streams of it, before
the mark names it.
Its handle is made from its bytes: equal outputs are stored once.
With
.Fl -token-count
the output is stored too.
.Pp
.Nm
.Cm show
takes the handle, four or more of its first digits, or
.Ql @last ,
and every option of
.Sx What is shown ,
.Sx \&In which form
and
.Sx From a stored output .
Without a limit of its own it takes that of the run.
What it shows is not stored again.
Positions that
.Fl -grep
puts in front of a line are offsets for
.Fl -token-offset .
.Pp
.Nm
.Cm spill list
lists what is stored,
.Cm spill path Ar handle
names the file with the plain bytes,
.Cm spill rm Ar handle
removes, and
.Cm spill gc
removes what is too old or too much; storing does that too, once in a while.
What was stored or read within the hour is kept.
.Pp
Of an output larger than
.Fl -max-bytes
the beginning is stored, and the mark says so.
What cannot be stored is shown all the same, with a warning.
Directories have mode 0700, files 0600; no symbolic link is followed.
.Fl -redact
masks secrets before anything is stored: private keys, tokens of clouds and
forges, authorization headers, passwords in assignments and URLs.
It finds what looks like one, and no more.
"""

SESSIONS = r"""
.Sh SESSIONS
A session is a budget of tokens that many processes share.
.Fl -session
or its variable charges one.
Before anything runs a call reserves the least of
.Fl -token-limit ,
what one result may take of
.Fl -context-window ,
and what the turn and the session have left; it is charged with what it writes,
the envelope included.
When nothing is left nothing runs, and the exit status is 120.
.Pp
As the total runs out answers get terser: at 50 percent left and less
.Cm table ,
at 20 percent and less
.Cm summary ,
below 5 percent
.Cm handle_only ;
see
.Fl -mode .
.Pp
.Nm
.Cm budget start Ar name Fl -total Ar N
prints the line to evaluate in the shell,
.Cm status
and
.Cm list
show,
.Cm check
answers with its exit status,
.Cm record
adds the tokens of model calls,
.Cm turn
begins a turn,
.Cm compacted
tells that the reader's context was compacted,
.Cm reset
and
.Cm end
do what they say.
"""

RESPONSES = r"""
.Sh RESPONSES
.Bl -tag -width indent
.It Fl -output Cm text
The payload as it is.
With
.Fl -token-count ,
the number and a newline.
.It Fl -output Cm json
One JSON object on one line, the envelope.
It always has these five keys:
.Bl -tag -width "warnings"
.It Va ok
Whether the exit status is 0.
.It Va data
A JSON payload as itself; of text, an array with the text and, where something
was left out, the mark;
.Dv null
with
.Fl -token-count ,
and if nothing was run.
The limit covers this value as it is written, escapes included.
.It Va error
.Dv null ,
or an object with
.Va code ,
.Va message
and, if the command wrote to standard error,
.Va detail ,
the end of that.
.It Va warnings
An array of objects with
.Va code
and
.Va message .
.It Va meta
An object with
@always@
and, where they apply,
@sometimes@
.El
.It Fl -output Cm jsonl
One JSON value per line: of text, a string per line of text, its line end
included; of an array, its elements.
A mark is a line
.Ql {"[TRUNCATED]":true} .
The last line is an object with
.Va meta
and, if there are any,
.Va error
and
.Va warnings .
.El
.Pp
The codes of errors do not change between versions:
.Bl -tag -width indent
.It Dv COMMAND_FAILED
The command ended with a status other than 0.
Its output is in
.Va data
all the same.
.It Dv COMMAND_KILLED
A signal killed the command.
.It Dv COMMAND_NOT_FOUND , COMMAND_NOT_EXECUTABLE
The command could not be started.
.It Dv USAGE
The call itself is wrong.
.It Dv TOKENIZER_UNAVAILABLE
There is no such tokenizer here.
.It Dv NOT_FOUND
There is no such handle, value or line.
.It Dv STORE_ERROR
The data directory cannot be used.
.It Dv BUDGET_EXHAUSTED
Nothing is left of the session or the turn.
Nothing was run.
.It Dv HOOK_REFUSED
A hook for an agent cannot be installed, or not safely; no file was touched.
.It Dv CONFIG_EXISTS
There is a config file already, and it was not written over.
.It Dv TIMEOUT
The time that
.Fl -timeout
gave was up.
.It Dv IO_ERROR
Standard input could not be read, or the output not be written.
.It Dv INTERNAL
Anything else that kept
.Nm
from its work.
.El
"""

FILES = r"""
.Sh FILES
.Bl -tag -width indent
.It Pa ~/.config/tokcap/config.toml
Defaults of the user, in TOML, under the keys that
.Sx OPTIONS
names.
An unknown key or a bad value is refused, with its line;
.Nm
.Cm doctor Fl -write-config
writes a file with all keys and their defaults, commented out.
.Ev XDG_CONFIG_HOME
replaces
.Pa ~/.config .
On macOS the file is
.Pa ~/Library/Application Support/tokcap/config.toml .
.It Pa ~/.local/share/tokcap
Stored outputs in
.Pa spill ,
and the account of sessions,
.Pa ledger.db .
.Ev TOKCAP_DATA_DIR
names another directory in place of
.Pa ~/.local/share/tokcap ,
.Ev XDG_DATA_HOME
replaces
.Pa ~/.local/share .
On macOS it is
.Pa ~/Library/Application Support/tokcap .
.El
"""

ENDING = r"""
.Sh EXIT STATUS
.Bl -tag -width indent
.It The command's own
0 to 255, unchanged; 0 for standard input.
.It 120
The budget is exhausted: the command was not run.
.It 124
The time was up.
.It 125
.Nm
itself failed or refused the call.
After bad usage nothing was run.
.It 126
The command was found and cannot be executed.
.It 127
The command was not found.
.It 128 + N
The command was killed by signal N.
.It 130
An interrupt ended
.Nm
while it read standard input.
.It 141
Whoever read the output has gone away.
.El
.Pp
Subcommands exit with 0, with 1 if there is no such handle, value or line, with
2 after bad usage, or with 125.
.Sh EXAMPLES
At most 500 tokens of a log, in whole lines:
.Bd -literal -offset indent
$ tokcap \-n 500 \-\- git log
.Ed
.Pp
A window, and the end of the same output:
.Bd -literal -offset indent
$ seq 300 | tokcap \-n 28 \-\-spill never
1
2
3
[TRUNCATED] tokens 0\-6 of 600; next: \-\-token\-offset 6
$ tokcap \-\-token\-count \-\- seq 300
600
$ tokcap show @last \-\-token\-offset 596
299
300
$ tokcap show @last \-\-grep '^1?99'
99:196:99
199:396:199
.Ed
.Pp
Only the number of tokens:
.Bd -literal -offset indent
$ echo to be counted | tokcap \-\-token\-count
4
.Ed
.Pp
Beginning and end of a build, for a program that reads JSON:
.Bd -literal -offset indent
$ tokcap \-n 2000 \-\-keep ends \-o json make
.Ed
.Pp
A limit for every call from this shell:
.Bd -literal -offset indent
$ export TOKCAP_TOKEN_LIMIT=4000
.Ed
.Pp
A limit for every call, in
.Pa config.toml :
.Bd -literal -offset indent
token_limit = 4000
keep = "ends"
.Ed
.Pp
Completion in bash, zsh and fish:
.Bd -literal -offset indent
$ source <(tokcap completion bash)
$ source <(tokcap completion zsh)
$ tokcap completion fish | source
.Ed
.Sh SEE ALSO
head(1), tail(1), wc(1)
.Pp
.Lk https://github.com/openai/tiktoken tiktoken ,
the encodings.
.Pp
.Lk https://toml.io TOML ,
the form of the configuration file.
"""


def page() -> str:
    """The whole page."""
    sections = (
        head(),
        options(),
        OTHER_OPTIONS,
        WINDOWS,
        COMMAND,
        STORE,
        SESSIONS,
        responses(),
        environment(),
        FILES,
        ENDING,
    )
    return "".join(section.lstrip("\n") for section in sections)


def head() -> str:
    return HEAD.replace("@date@", DATE).replace("@subcommands@", enumerated("Cm", SUBCOMMANDS))


def options() -> str:
    """What the table says, group by group."""
    lines = []
    for group in dict.fromkeys(option.group for option in OPTIONS):
        lines += [f".Ss {no_macros(group.split())}", ".Bl -tag -width indent"]
        for option in OPTIONS:
            if option.group == group:
                lines += described(option)
        lines.append(".El")
    return joined(lines)


def described(option: Option) -> Iterator[str]:
    short = f"Fl {option.short} , " if option.short else ""
    yield f".It {short}Fl -{option.name}{value(option)}"
    yield from sentence(option.help)
    if isinstance(option.kind, Switch):
        yield f".Fl -no-{option.name}"
        yield "turns it off again."
    # Not to be hyphenated: it is to be typed as it stands.
    yield f"Default: \\%{escaped(option.shown_default)}."
    if option.ambient:
        yield "Variable:"
        yield f".Ev {option.variable} ."
        yield "Key:"
        yield f".Va {option.key} ."


def value(option: Option) -> str:
    """The value in macros, with the blank before it; nothing for a switch."""
    if isinstance(option.kind, Choice):
        return f" Cm {no_macros(option.kind.words, ' | ')}"
    return f" Ar {option.metavar}" if option.metavar else ""


def responses() -> str:
    always = ("duration_ms", "tokenizer", "schema_version")
    sometimes = [field for field in Meta.__annotations__ if field not in always]
    section = RESPONSES.replace("@always@", enumerated("Va", always))
    return section.replace("@sometimes@", enumerated("Va", sometimes) + " .")


def environment() -> str:
    lines = [
        ".Sh ENVIRONMENT",
        "Each option that is not about one stored output has a variable.",
        "A flag comes before the variable, the variable before the configuration file.",
        "An empty variable is no value, but for",
        ".Ev TOKCAP_SENTINEL .",
        "That of a switch is",
        enumerated("Cm", ("true", "yes", "on", "1", "false", "no", "off", "0"), "or") + " .",
        ".Bl -tag -width TOKCAP_TOKEN_OFFSET",
        ".It Ev TOKCAP_CONFIG",
        "The configuration file to read instead of the user's own; it must exist.",
        ".It Ev TOKCAP_SHELL",
        "The shell that runs the string of",
        ".Fl c .",
        ".It Ev TOKCAP_DATA_DIR",
        "The directory for what is stored, instead of the user's own.",
    ]
    for option in (option for option in OPTIONS if option.ambient):
        lines += [f".It Ev {option.variable}", f".Fl -{option.name}"]
    return joined([*lines, ".El"])


def enumerated(macro: str, names: Sequence[str], conjunction: str = "and") -> str:
    """`a, b and c`, each in the given macro."""
    *first, last = names
    return f".{macro} {no_macros(first, ' , ')}\n{conjunction}\n.{macro} {no_macros([last])}"


def no_macros(words: Sequence[str], between: str = " ") -> str:
    """Words for a macro's line, where a word such as `In` would be a macro itself."""
    return between.join(f"\\&{word}" if word.istitle() else word for word in words)


def sentence(text: str) -> Iterator[str]:
    """Text of the table as a sentence; a name at its beginning keeps its spelling."""
    first = text.split(" ", 1)[0]
    whole = text[0].upper() + text[1:] if first.isalpha() else text
    for line in textwrap.wrap(whole + ".", WIDTH, break_on_hyphens=False):
        # At the beginning of a line these two make a request of it.
        yield ("\\&" if line.startswith((".", "'")) else "") + escaped(line)


def escaped(text: str) -> str:
    return text.replace("\\", "\\e")


def joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    (Path(__file__).parent / "tokcap.1").write_text(page())
