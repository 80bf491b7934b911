"""The table of rules: how outputs say that something failed, and how a run ended.

A new rule is a row in `RULES` and a line in a case file of `tests/findings/cases`. Its words say which lines
it looks at, so a text without them costs nothing; its pattern says which of these lines are meant. Patterns
are for one line without escape sequences. They have no named groups: they are compiled ahead of time.

A search is ten times as fast if all matches begin with a character of one set, `[se](?:(?<=s)…|(?<=e)…)`, or
at the beginning of the line, `^…|^…`. So rules for many lines have one of these forms; `(?<=\\b.)` after the
set says that a word begins there.
"""

from __future__ import annotations

from tokcap.lean.patterns import later

# The kinds of failures and results, the most important first.
CRASH, SUMMARY, ERROR, FAILED, TROUBLE, WARNING = "crash", "summary", "error", "failed", "trouble", "warning"
KINDS = (CRASH, SUMMARY, ERROR, FAILED, TROUBLE, WARNING)


# Each rule: its name, its kind, its words and its pattern. Lines that have one of the words and match the
# pattern are of this kind. Words are in lower case; `*error` is every word that ends so, `{code}` a code like
# `F821`. An empty pattern matches every line. All are literals: Python loads the table as one constant.
RULES = (
    # The end of a program: exceptions, signals, panics.
    (
        "exception",
        "crash",
        b"*error *exception *interrupt *notfound systemexit stopiteration assertionfailure",
        rb"(?:^|[\s:(\]>])(?:[\w$]+(?:\.|::|\\))*[A-Z][\w$]*(?:Error|Exception|Interrupt|NotFound"
        rb"|SystemExit|Failure|Iteration)\b(?: \[\w+\]|\(\d+\))?(?::|\s*$)",
    ),
    (
        "exception that nobody caught",
        "crash",
        b"uncaught unhandled",
        rb"(?i:un(?:caught|handled)) \S",
    ),
    (
        "exception in a thread",
        "crash",
        b"exception caused nested",
        rb"^Exception in thread|^Caused by: |nested exception is",
    ),
    (
        "traceback",
        "crash",
        b"traceback backtrace",
        rb"^\s*(?:Traceback \(most|stack backtrace|Backtrace)",
    ),
    (
        "panic",
        "crash",
        b"panic panicked fatal goroutine sigsegv",
        rb"^(?:fatal error|panic|PANIC): |panicked at|kernel panic|Kernel panic|^\[signal SIG",
    ),
    (
        "signal",
        "crash",
        b"segmentation core bus smashing free floating illegal",
        rb"(?i:segmentation fault|core dumped|\bbus error|stack smashing|double free or"
        rb"|floating point exception|illegal instruction)",
    ),
    (
        "signal by name",
        "crash",
        b"sigsegv sigabrt sigbus sigill sigfpe sigkill killed aborted",
        rb"\bSIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL)\b|^Killed\b|^Aborted\b",
    ),
    (
        "sanitizer",
        "crash",
        b"addresssanitizer threadsanitizer memorysanitizer leaksanitizer undefinedbehaviorsanitizer runtime",
        rb"(?:ERROR|WARNING|SUMMARY): \w+Sanitizer|: runtime error: ",
    ),
    (
        "valgrind",
        "crash",
        b"invalid mismatched uninitialised conditional lost",
        rb"^==\d+== *(?:Invalid|Mismatched|Use of|Conditional|.* definitely lost in)",
    ),
    (
        "freed memory",
        "trouble",
        b"freed free previously",
        rb"^(?:freed|previously allocated) by thread|\bfree'd\s*$",
    ),
    (
        "out of memory",
        "crash",
        b"memory space oomkilled oom-kill oom-killer files",
        rb"(?i:\bout of memory\b|\boom-?kill|cannot allocate memory|heap out of memory"
        rb"|no space left on device|too many open files)",
    ),
    (
        "fatal",
        "crash",
        b"fatal emerg emergency critical crit severe ftl",
        rb"(?:^|[\s:|>\[(])(?:fatal|Fatal|FATAL|emerg|EMERG\w*|FTL|CRIT(?:ICAL)?|Critical|critical"
        rb"|crit|SEVERE|Severe)(?:[\])]|: |\s*\||\s+\S)",
    ),
    (
        "merge conflict",
        "crash",
        b"conflict modified added merge",
        rb"^CONFLICT \(|^\s*both (?:modified|added):|Automatic merge failed|\bmerge conflict",
    ),
    (
        "dependency conflict",
        "crash",
        b"unmet eresolve resolutionimpossible",
        b"",
    ),
    # The result of a run.
    (
        "failures counted",
        "summary",
        b"failed failing failures failure errors error errored problems problem broken crashed",
        rb"[1-9](?<![\w.,:/-].)[\d,]* (?:\w+ )?(?:\(s\) )?(?:failed|failing|failures?|errors?"
        rb"|errored|problems?|broken|crashed)\b(?! (?:message|log|page))",
    ),
    (
        "failures by label",
        "summary",
        b"tests failed failures fail errors error unreachable crashed failure",
        rb"[TtFfEeuc](?<=\b.)(?:(?<=[Tt])ests|(?<=[Ff])ail(?:ed|ures?|s)?|(?<=F)AIL(?:ED|URES?)?|(?<=[Ee])rrors"
        rb"|(?<=E)RRORS|(?<=u)nreachable|(?<=c)rashed)\b['\"]?\s{0,2}[:=]\s{0,3}[1-9]\d*\b(?![./:]\w)",
    ),
    (
        "passes counted",
        "summary",
        b"passed passing tests examples ran test specs assertions",
        rb"\b\d+ pass(?:ed|ing)\b|^[\s*=#-]*\d+ (?:tests?|specs?|examples?|assertions?)(?:,| ran| run| passed"
        rb"| completed| finished| in \d)|^Ran \d+ test|^OK \(\d+ test|^Tests?(?: Suites| Files| run)?:\s+\d"
        rb"|\d+% tests passed|^test result: |^# (?:tests|pass) ",
    ),
    (
        "verdict",
        "summary",
        b"failed failures fail",
        rb"^\W{0,3}(?:OK|FAILED|FAILURES!?|FAIL|PASS) ?(?:\(|!?$)|^# fail [1-9]|^FAIL\t"
        rb"|^Result: FAIL",
    ),
    (
        "findings reported",
        "summary",
        b"found generated emitted errors problems issues vulnerabilities offenses violations warnings"
        b" detected",
        rb"^\W*(?:[Ff]ound|[Gg]enerated|[Ee]mitted|[Rr]eported) [\d,]+ \w+",
    ),
    (
        "findings counted",
        "summary",
        b"found generated emitted errors problems issues vulnerabilities offenses violations warnings"
        b" detected",
        rb"[\d,](?<=\b.)[\d,]* (?:errors?"
        rb"|problems?|issues?|vulnerabilit(?:y|ies)|offenses?|violations?|warnings?)\b(?: \(|,| and"
        rb"| in | found| generated| detected| emitted|\.?\s*$)",
    ),
    (
        "summary of errors",
        "summary",
        b"summary",
        rb"\b(?:ERROR|HEAP|LEAK) SUMMARY|^SUMMARY: ",
    ),
    (
        "build ended",
        "summary",
        b"build compilation compile compiling collect2 subcommands aborting finished linking",
        rb"(?i:\bbuild (?:failed|failure|successful|succeeded|success|stopped|finished|completed)\b"
        rb"|\bcompilation (?:failed|terminated|aborted|error)|could not compile|^collect2: "
        rb"|subcommands? failed|aborting due to)|^\s*Finished [`a-z]",
    ),
    (
        "make stopped",
        "summary",
        b"make gmake ninja ***",
        rb"^\S*make(?:\.exe)?(?:\[\d+\])?: \*\*\*|^\*\*\* \[|^ninja: (?:build stopped|error|fatal)",
    ),
    (
        "plan",
        "summary",
        b"plan apply destroy add upgraded added changed insertions insertion deletions",
        rb"^\W*(?:Plan|Apply complete|Destroy complete)[:!]|\b\d+ (?:to add|upgraded, \d+"
        rb"|added, \d+|changed, \d+)|^ *\d+ files? changed, \d+",
    ),
    (
        "recap",
        "summary",
        b"unreachable",
        rb"\bok=\d+\s+changed=\d+.*(?:unreachable|failed)=[1-9]",
    ),
    (
        "installed",
        "summary",
        b"successfully packages complete installed audited removed",
        rb"^\W*(?:Successfully (?:installed|built|tagged|uninstalled|copied|created)"
        rb"|added \d+ packages|Installed \d+|Bundle complete|Complete!)",
    ),
    (
        "rating",
        "summary",
        b"rated coverage total",
        rb"\brated at [-\d.]+/\d|^TOTAL\b.*\d%|\bcoverage: [\d.]+%",
    ),
    (
        "exit status",
        "summary",
        b"exit exited code status returned non-zero",
        rb"(?i:\b(?:exit(?:ed|s)?|finished|terminated|returned"
        rb"|failed)(?: with)?(?: an?)?(?: (?:exit|return|error))?(?: (?:code"
        rb"|status))? ?[:=]?[ (]*[1-9]\d{0,2}\b|returned (?:a )?non-zero|\+\+\+ exited with)",
    ),
    (
        "totals",
        "summary",
        b"total real elapsed duration sent done finished completed time",
        rb"^(?:total|Total|TOTAL|real|Elapsed|Duration|Time|Finished|Done|DONE"
        rb"|Completed)\b[^.!?]{0,60}\d|\bsent [\d,.]+\w* bytes|\btotal size is\b",
    ),
    # One thing that failed: a diagnostic of a compiler, an entry of a log, a message of a tool.
    (
        "error at the beginning",
        "error",
        b"error errors",
        rb"^\W{0,4}(?:fatal |syntax )?(?:[Ee]rror|ERROR)(?:\[[\w:-]+\]|\([\w:-]+\)| in | at )?!?(?::|\s)",
    ),
    (
        "compiler error",
        "error",
        b"error errors",
        rb"[:e(](?:(?<=[)\w]:) (?:fatal |internal compiler |syntax )?(?i:error)(?: ?\[?[\w-]+\]?)?:"
        rb"|(?<=:) (?:fatal )?error [A-Z]+\d+|(?<=\be)rror\[E\d+\]|(?<=\()error\))",
    ),
    (
        "linker",
        "error",
        b"undefined multiple unresolved symbol symbols cannot ld duplicate",
        rb"undefined reference to|multiple definition of|unresolved external|[Uu]ndefined symbol"
        rb"|symbol\(s\) not found|cannot find -l|ld returned \d|duplicate symbol",
    ),
    (
        "package manager",
        "error",
        b"err error e",
        rb"^E: |^error Command",
    ),
    (
        "package manager of a language",
        "error",
        b"err error e",
        rb"[ngpyl](?<=\b.)(?:(?<=n)pm|(?<=g)yp|(?<=p)npm|(?<=y)arn|(?<=l)erna)[ \d.]*(?:ERR!|error\b)",
    ),
    (
        "log level",
        "error",
        b"error err alert eror",
        rb"(?:^|[\s\[|<(:])(?:ERROR|ERR|EROR)(?:[\]|>)]|:|\s{1,5}\S)"
        rb"|\blevel[\"']?[=:]\s?[\"']?(?:error|fatal|panic|crit)|[\"'](?:severity"
        rb"|lvl)[\"']: ?[\"']?(?i:error|fatal|critical)|\[(?:error|crit|alert|emerg)\]",
    ),
    (
        "log level, other words",
        "error",
        b"level panic severity lvl",
        rb"\blevel[\"']?[=:]\s?[\"']?(?:fatal|panic|crit)|[\"'](?:severity"
        rb"|lvl)[\"']: ?[\"']?(?i:fatal|critical)",
    ),
    (
        "database",
        "error",
        b"syntax sqlstate constraint key deadlock detail psql error fatal",
        rb"^(?:psql:\S* )?(?:ERROR|FATAL|DETAIL):  ",
    ),
    (
        "refused query",
        "error",
        b"syntax sqlstate constraint key deadlock detail psql error fatal",
        rb"[sSvd](?:(?<=\b[sS])(?i:yntax error\b)|(?<=S)QLSTATE|(?<=v)iolates \S+ (?:\S+ )?constraint"
        rb"|(?<=d)uplicate key|(?<=d)eadlock detected)",
    ),
    (
        "severity",
        "error",
        b"severity high",
        rb"(?i:\bseverity[\"']?\s*[:=]\s*[\"']?(?:high|critical|error|blocker))|\bHIGH\b",
    ),
    (
        "status of a container",
        "error",
        b"crashloopbackoff oomkilled imagepullbackoff errimagepull evicted backoff failedscheduling"
        b" failedmount unhealthy accessdenied",
        b"",
    ),
    (
        "play",
        "error",
        b"failed unreachable fatal",
        rb"^(?:fatal|failed): \[",
    ),
    (
        "task of a play",
        "error",
        b"failed unreachable fatal",
        rb"[FU](?<=\b.)(?:(?<=F)AILED|(?<=U)NREACHABLE)!",
    ),
    (
        "refused request",
        "error",
        b"400 401 403 404 405 409 410 413 422 429 500 501 502 503 504",
        rb"(?i:http(?:/[\d.]+)?\"?|status(?:[ _]?code)?)[\"':= ]{1,3}[45]\d\d\b|\" 5\d\d ",
    ),
    (
        "failed call",
        "error",
        b"econnrefused econnreset enoent eacces eperm eaddrinuse etimedout enotfound eai_again epipe"
        b" eexist eintegrity elsproblems ehostunreach enetunreach eio enospc emfile enomem",
        b"",
    ),
    (
        "code of an error",
        "error",
        b"{code}",
        rb"(?::\d+|^\S+): (?:[EF]\d{4}|F\d{3}|E9\d\d)[: ]",
    ),
    # A part of a run that failed: a test, a step, a file.
    (
        "failed test",
        "failed",
        b"failed fail failure error errored not broken exception timeout",
        rb"^\W{0,6}(?:FAILED|FAIL|ERROR|FAILURE|ERRORED|not ok|BROKEN)(?:\s*[:(]|[ \t]+\S)|^\s*--- FAIL",
    ),
    (
        "test and its result",
        "failed",
        b"failed fail failure error errored not broken exception timeout",
        rb"[FE\].*:\[<](?:(?<=\b[FE])(?:(?<=F)AIL(?:ED|URE)?|(?<=E)RROR)"
        rb"\W*(?:\[ *\d+%\]\W*|\([\d.]+ ?m?s\)\W*)?$"
        rb"|(?<=\]) (?:FAILED|ERROR|FAIL) \S|(?<=\.)\.\. ?(?:FAILED|FAIL|ERROR|failed)\b"
        rb"|(?<=\*)\*\*(?:Failed|Exception|Timeout|Not Run)|(?<=:) Failure\s*$|(?<=\[)  ?FAILED  ?\]"
        rb"|(?<=<)<< (?:FAILURE|ERROR)!)",
    ),
    (
        "assertion",
        "failed",
        b"assert assertion assertionerror expected actual received left right got want",
        rb"(?i:\bassert(?:ion)?(?:error)?(?: failed)?\b ?[:'`(]|\bexpected\b.*(?:\bbut\b|\bgot\b"
        rb"|\bactual|received|\bto (?:be|equal|have|match|contain))|^\s*(?:expected|actual|received"
        rb"|left|right|got|want)\b ?(?:\(.*\))?[:=])|^>\s+assert ",
    ),
    # Words of failure in a sentence.
    (
        "failed",
        "trouble",
        b"failed failure failures failing fails fail errors error err exception exceptions abort"
        b" aborted aborting aborts crash crashed crashes fault faults broken corrupt corrupted"
        b" corruption invalid illegal malformed panic bad",
        b"",
    ),
    (
        "not possible",
        "trouble",
        b"cannot can't couldn't unable unexpected undefined undeclared unresolved unsatisfied"
        b" unsupported unavailable incompatible mismatch mismatched unrecognized unknown conflict"
        b" conflicts conflicting diverged deadlock",
        b"",
    ),
    (
        "not",
        "trouble",
        b"not doesn't isn't don't",
        rb"[nNdDiI](?i:(?<=n)ot (?:be )?(?:found|permitted|allowed|exist|match|a git|a valid|installed"
        rb"|recogni[sz]ed|defined|supported|available|implemented|reachable|ready|running|find"
        rb"|resolve|possible|satisf|appear|contain|declared|have|been declared)|(?<=d)oesn't (?:exist"
        rb"|match|have)|(?<=i)sn't )",
    ),
    (
        "could not",
        "trouble",
        b"could",
        rb"(?i:\bcould not\b)",
    ),
    (
        "no such",
        "trouble",
        b"no",
        rb"(?i:\bno such \w|\bno (?:matching|module|space|route|rule|method|value|candidate|member"
        rb"|version|field|package|free|address|default)\b)",
    ),
    (
        "requested",
        "trouble",
        b"depends requires required must mean related has requested",
        rb"^\s*The user requested",
    ),
    (
        "needs",
        "trouble",
        b"depends requires required must mean related has requested",
        rb"[drmDih](?:(?<=\b.)(?:(?<=d)epends on\b|(?<=r)equire(?:s \S|d\b)|(?<=m)ust (?:be|have|first))"
        rb"|(?<=[Dd])id you mean|(?<=i)s related to|(?<=h)as no \w)",
    ),
    (
        "refused",
        "trouble",
        b"denied refused rejected forbidden unauthorized timeout timeouts expired unreachable"
        b" disconnect disconnected killed terminated interrupted evicted backoff back-off unhealthy"
        b" degraded lost leak leaked leaks throttled throttling exceeded exceeds overflow overflowed"
        b" break-in attack attacks suspicious violation defunct zombie dead unmet vulnerable"
        b" vulnerabilities vulnerability stalled hung retrying rollback dropped",
        b"",
    ),
    (
        "refused in two words",
        "trouble",
        b"timed reset authentication",
        rb"(?i:timed out|reset by|authentication fail)",
    ),
    (
        "call without an answer",
        "trouble",
        b"connect",
        rb"\bconnect\(\d+, \{sa_family=AF_INET6?,.* = -1 E",
    ),
    # What may go wrong later.
    (
        "warning",
        "warning",
        b"warning warnings warn deprecated deprecation deprecationwarning *warning wrn caution",
        b"",
    ),
    (
        "code of a warning",
        "warning",
        b"{code}",
        rb"(?::\d+|^\S+): [WCR]\d{4}[: ]",
    ),
    (
        "note",
        "warning",
        b"{code}",
        rb"\((?:info|style|note)\)",
    ),
)

# Lines that are marked as failed without a word: `E   assert 1 == 2`, `✕ adds`, `● Calculator`, `  1) Login`.
# If none of these is in a text after a line end, no line of the text is marked so.
MARKS = (b"\nE   ", b"\xe2\x9c", b"\xe2\x9d\x8c", b"\xc3\x97", b"\xe2\xa8\xaf", b"\xe2\x97\x8f")
NUMBERED = later(rb"\n  \d+\) ")
MARKED_LINES = later(
    rb"E   +\S|\s*(?:\xe2\x9c\x95|\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9d\x8c|\xc3\x97|\xe2\xa8\xaf|\xe2\x97\x8f"
    rb"|\xe2\x9c\x96) ?\S|  \d+\) \S"
)
