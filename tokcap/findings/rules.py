"""The table of rules: how outputs say that something failed, how it ended, and where a part begins.

A new rule is a row in `RULES` and a line in a case file of `tests/findings/cases`. Its words say which lines it
looks at, so a text without them costs nothing; its pattern says which of these lines are meant. Patterns are for
one line without escape sequences and have no named groups, so that they can be compiled ahead of time.
"""

from __future__ import annotations

from tokcap.lean.patterns import later
from tokcap.lean.record import Record

IGNORECASE = 2

# The kinds of failures and results, the most important first.
CRASH, SUMMARY, ERROR, FAILED, TROUBLE, WARNING = "crash", "summary", "error", "failed", "trouble", "warning"
KINDS = (CRASH, SUMMARY, ERROR, FAILED, TROUBLE, WARNING)


class Rule(Record):
    """One way to say something. Lines that have one of `words` and match `pattern` are of `kind`.

    Words are in lower case; `*error` is every longer word that ends so. An empty pattern matches every line.
    """

    name: str
    kind: str
    words: str
    pattern: bytes = b""


RULES = (
    # The end of a program: exceptions, signals, panics.
    Rule(
        "exception",
        CRASH,
        "*error *exception *interrupt *notfound *exit *failure *fault *iteration",
        rb"(?:^|[\s:(\]>])(?:[\w$]+(?:\.|::|\\))*[A-Z][\w$]*(?:Error|Exception|Interrupt|NotFound|Exit|Failure|Fault|Iteration)\b(?: \[\w+\]|\(\d+\))?(?::|\s*$)",
    ),
    Rule("exception that nobody caught", CRASH, "uncaught unhandled", rb"(?i:un(?:caught|handled)) \S"),
    Rule(
        "exception in a thread",
        CRASH,
        "exception caused nested",
        rb"^Exception in thread|^Caused by: |nested exception is",
    ),
    Rule("traceback", CRASH, "traceback backtrace", rb"^\s*(?:Traceback \(most|stack backtrace|Backtrace)"),
    Rule(
        "panic",
        CRASH,
        "panic panicked fatal goroutine sigsegv",
        rb"^(?:fatal error|panic|PANIC): |panicked at|kernel panic|Kernel panic|^\[signal SIG",
    ),
    Rule(
        "signal",
        CRASH,
        "segmentation core bus smashing free floating illegal",
        rb"(?i:segmentation fault|core dumped|\bbus error|stack smashing|double free or|floating point exception|illegal instruction)",
    ),
    Rule(
        "signal by name",
        CRASH,
        "sigsegv sigabrt sigbus sigill sigfpe sigkill killed aborted",
        rb"\bSIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL)\b|^Killed\b|^Aborted\b",
    ),
    Rule(
        "sanitizer",
        CRASH,
        "addresssanitizer threadsanitizer memorysanitizer leaksanitizer undefinedbehaviorsanitizer runtime",
        rb"(?:ERROR|WARNING|SUMMARY): \w+Sanitizer|: runtime error: ",
    ),
    Rule(
        "valgrind",
        CRASH,
        "invalid mismatched uninitialised conditional lost",
        rb"^==\d+== *(?:Invalid|Mismatched|Use of|Conditional|.* definitely lost in)",
    ),
    Rule(
        "out of memory",
        CRASH,
        "memory space oomkilled oom-kill oom-killer files",
        rb"(?i:\bout of memory\b|\boom-?kill|cannot allocate memory|heap out of memory|no space left on device|too many open files)",
    ),
    Rule(
        "fatal",
        CRASH,
        "fatal emerg emergency critical crit severe ftl",
        rb"(?:^|[\s:|>\[(])(?:fatal|Fatal|FATAL|emerg|EMERG\w*|FTL|CRIT(?:ICAL)?|Critical|critical|crit|SEVERE|Severe)(?:[\])]|: |\s*\||\s+\S)",
    ),
    Rule(
        "merge conflict",
        CRASH,
        "conflict modified added merge",
        rb"^CONFLICT \(|^\s*both (?:modified|added):|Automatic merge failed|\bmerge conflict",
    ),
    Rule("dependency conflict", CRASH, "unmet eresolve resolutionimpossible", rb""),
    # The result of a run.
    Rule(
        "failures counted",
        SUMMARY,
        "failed failing failures failure errors error errored problems problem broken crashed",
        rb"(?:^|[^\w.,:/-])[1-9][\d,]* (?:\w+ )?(?:\(s\) )?(?:failed|failing|failures?|errors?|errored|problems?|broken|crashed)\b(?! (?:message|log|page))",
    ),
    Rule(
        "failures by label",
        SUMMARY,
        "tests failed failures fail errors error unreachable crashed failure",
        rb"\b(?:[Tt]ests|[Ff]ail(?:ed|ures?|s)?|FAIL(?:ED|URES?)?|[Ee]rrors|ERRORS|unreachable|crashed)\b['\"]?\s{0,2}[:=]\s{0,3}[1-9]\d*\b(?![./:]\w)",
    ),
    Rule(
        "passes counted",
        SUMMARY,
        "passed passing tests examples ran test specs assertions",
        rb"\b\d+ pass(?:ed|ing)\b|^\W*\d+ (?:tests?|specs?|examples?|assertions?)\b|^Ran \d+ test|^Tests?(?: Suites| Files| run)?:\s+\d|\d+% tests passed|^test result: |^# (?:tests|pass) ",
    ),
    Rule(
        "verdict",
        SUMMARY,
        "failed ok failures fail",
        rb"^\W{0,3}(?:OK|FAILED|FAILURES!?|FAIL|PASS) ?(?:\(|!?$)|^# fail [1-9]|^FAIL\t|^Result: FAIL",
    ),
    Rule(
        "findings counted",
        SUMMARY,
        "found generated emitted errors problems issues vulnerabilities offenses violations warnings detected",
        rb"^\W*(?:[Ff]ound|[Gg]enerated|[Ee]mitted|[Rr]eported) [\d,]+ \w+|\b[\d,]+ (?:errors?|problems?|issues?|vulnerabilit(?:y|ies)|offenses?|violations?|warnings?)\b(?: \(|,| and| in | found| generated| detected| emitted|\.?\s*$)",
    ),
    Rule("summary of errors", SUMMARY, "summary", rb"\b(?:ERROR|HEAP|LEAK) SUMMARY|^SUMMARY: "),
    Rule(
        "build ended",
        SUMMARY,
        "build compilation compile compiling collect2 subcommands aborting finished linking",
        rb"(?i:\bbuild (?:failed|failure|successful|succeeded|success|stopped|finished|completed)\b|\bcompilation (?:failed|terminated|aborted|error)|could not compile|^collect2: |subcommands? failed|aborting due to)|^\s*Finished [`a-z]",
    ),
    Rule(
        "make stopped",
        SUMMARY,
        "make gmake ninja ***",
        rb"^\S*make(?:\.exe)?(?:\[\d+\])?: \*\*\*|^\*\*\* \[|^ninja: (?:build stopped|error|fatal)",
    ),
    Rule(
        "plan",
        SUMMARY,
        "plan apply destroy add upgraded added changed insertions insertion deletions",
        rb"^\W*(?:Plan|Apply complete|Destroy complete)[:!]|\b\d+ (?:to add|upgraded, \d+|added, \d+|changed, \d+)|^ *\d+ files? changed, \d+",
    ),
    Rule(
        "recap",
        SUMMARY,
        "ok changed unreachable failed",
        rb"\bok=\d+\s+changed=\d+.*(?:unreachable|failed)=[1-9]",
    ),
    Rule(
        "installed",
        SUMMARY,
        "successfully packages complete installed audited removed",
        rb"^\W*(?:Successfully (?:installed|built|tagged|uninstalled|copied|created)|added \d+ packages|Installed \d+|Bundle complete|Complete!)",
    ),
    Rule(
        "rating", SUMMARY, "rated coverage total", rb"\brated at [-\d.]+/\d|^TOTAL\b.*\d%|\bcoverage: [\d.]+%"
    ),
    Rule(
        "exit status",
        SUMMARY,
        "exit exited code status returned non-zero",
        rb"(?i:\b(?:exit(?:ed|s)?|finished|terminated|returned|failed)(?: with)?(?: an?)?(?: (?:exit|return|error))?(?: (?:code|status))? ?[:=]?[ (]*[1-9]\d{0,2}\b|returned (?:a )?non-zero|\+\+\+ exited with)",
    ),
    Rule(
        "totals",
        SUMMARY,
        "total real elapsed duration sent done finished completed time",
        rb"^(?:total|Total|TOTAL|real|Elapsed|Duration|Time|Finished|Done|DONE|Completed)\b[^.!?]{0,60}\d|\bsent [\d,.]+\w* bytes|\btotal size is\b",
    ),
    # One thing that failed: a diagnostic of a compiler, an entry of a log, a message of a tool.
    Rule(
        "compiler error",
        ERROR,
        "error errors",
        rb"(?::\d+|[)\w]): (?:fatal |internal compiler |syntax )?(?i:error)(?: ?\[?[\w-]+\]?)?:|^\W{0,4}(?:fatal |syntax )?(?:[Ee]rror|ERROR)(?:\[[\w:-]+\]|\([\w:-]+\)| in | at )?!?(?::|\s)|: (?:fatal )?error [A-Z]+\d+|\berror\[E\d+\]|\(error\)",
    ),
    Rule(
        "linker",
        ERROR,
        "undefined multiple unresolved symbol symbols cannot ld duplicate",
        rb"undefined reference to|multiple definition of|unresolved external|[Uu]ndefined symbol|symbol\(s\) not found|cannot find -l|ld returned \d|duplicate symbol",
    ),
    Rule(
        "package manager",
        ERROR,
        "err error e",
        rb"\b(?:npm|gyp|pnpm|yarn|lerna)[ \d.]*(?:ERR!|error\b)|^E: |^error Command",
    ),
    Rule(
        "log level",
        ERROR,
        "error err alert eror",
        rb"(?:^|[\s\[|<(:])(?:ERROR|ERR|EROR)(?:[\]|>)]|:|\s{1,5}\S)|\blevel[\"']?[=:]\s?[\"']?(?:error|fatal|panic|crit)|[\"'](?:severity|lvl)[\"']: ?[\"']?(?i:error|fatal|critical)|\[(?:error|crit|alert|emerg)\]",
    ),
    Rule(
        "log level, other words",
        ERROR,
        "level panic severity lvl",
        rb"\blevel[\"']?[=:]\s?[\"']?(?:fatal|panic|crit)|[\"'](?:severity|lvl)[\"']: ?[\"']?(?i:fatal|critical)",
    ),
    Rule(
        "database",
        ERROR,
        "syntax sqlstate constraint key deadlock detail psql error fatal",
        rb"(?i:\bsyntax error\b)|SQLSTATE|violates \S+ (?:\S+ )?constraint|duplicate key|deadlock detected|^(?:ERROR|FATAL|DETAIL):  |^psql:",
    ),
    Rule(
        "status of a container",
        ERROR,
        "crashloopbackoff oomkilled imagepullbackoff errimagepull evicted backoff failedscheduling failedmount unhealthy accessdenied",
    ),
    Rule("play", ERROR, "failed unreachable fatal", rb"\b(?:FAILED|UNREACHABLE)!|^(?:fatal|failed): \["),
    Rule(
        "refused request",
        ERROR,
        "http http/1.1 http/1.0 http/2 status status_code statuscode code",
        rb"(?i:\bhttp(?:/[\d.]+)?\"?|\bstatus(?:[ _]?code)?)[\"':= ]{1,3}(?:5\d\d|4(?:0[0135-9]|[1-9]\d))\b",
    ),
    Rule(
        "failed call",
        ERROR,
        "econnrefused econnreset enoent eacces eperm eaddrinuse etimedout enotfound eai_again epipe eexist eintegrity elsproblems ehostunreach enetunreach eio enospc emfile enomem",
    ),
    Rule("code of an error", ERROR, "{code}", rb"(?::\d+|^\S+): (?:[EF]\d{4}|F\d{3}|E9\d\d)[: ]"),
    # A part of a run that failed: a test, a step, a file.
    Rule(
        "failed test",
        FAILED,
        "failed fail failure error errored not broken exception timeout",
        rb"^\W{0,6}(?:FAILED|FAIL|ERROR|FAILURE|ERRORED|not ok|BROKEN)(?:\s*[:(]|[ \t]+\S)|\b(?:FAILED|FAIL|ERROR|FAILURE)\W*(?:\[ *\d+%\]\W*|\([\d.]+ ?m?s\)\W*)?$|\] (?:FAILED|ERROR|FAIL) \S|\.\.\. ?(?:FAILED|FAIL|ERROR|failed)\b|\*\*\*(?:Failed|Exception|Timeout|Not Run)|: Failure\s*$|^\s*--- FAIL|\[  ?FAILED  ?\]|<<< (?:FAILURE|ERROR)!|^FAILED: ",
    ),
    Rule(
        "assertion",
        FAILED,
        "assert assertion assertionerror expected actual received left right got want",
        rb"(?i:\bassert(?:ion)?(?:error)?(?: failed)?\b ?[:'`(]|\bexpected\b.*(?:\bbut\b|\bgot\b|\bactual|received|\bto (?:be|equal|have|match|contain))|^\s*(?:expected|actual|received|left|right|got|want)\b ?(?:\(.*\))?[:=])|^>\s+assert ",
    ),
    # Words of failure in a sentence.
    Rule(
        "failed",
        TROUBLE,
        "failed failure failures failing fails fail errors error err exception exceptions abort aborted aborting aborts crash crashed crashes fault faults broken corrupt corrupted corruption invalid illegal malformed panic bad",
    ),
    Rule(
        "not possible",
        TROUBLE,
        "cannot can't couldn't unable unexpected undefined undeclared unresolved unsatisfied unsupported unavailable incompatible mismatch mismatched unrecognized unknown conflict conflicts conflicting diverged deadlock",
    ),
    Rule(
        "not",
        TROUBLE,
        "not doesn't isn't don't",
        rb"(?i:not (?:be )?(?:found|permitted|allowed|exist|match|a git|a valid|installed|recogni[sz]ed|defined|supported|available|implemented|reachable|ready|running|find|resolve|possible|satisf|appear|contain|declared|have|been declared)|doesn't (?:exist|match|have)|isn't )",
    ),
    Rule("could not", TROUBLE, "could", rb"(?i:\bcould not\b)"),
    Rule(
        "no such",
        TROUBLE,
        "no",
        rb"(?i:\bno such \w|\bno (?:matching|module|space|route|rule|method|value|candidate|member|version|field|package|free|address|default)\b)",
    ),
    Rule(
        "needs",
        TROUBLE,
        "depends requires required must mean related has requested",
        rb"\bdepends on\b|\brequires \S|\brequired\b|\bmust (?:be|have|first)|[Dd]id you mean|is related to|has no \w|^The user requested|^\s+The user requested",
    ),
    Rule(
        "refused",
        TROUBLE,
        "denied refused rejected forbidden unauthorized timeout timeouts expired unreachable disconnect disconnected"
        " killed terminated interrupted evicted backoff back-off unhealthy degraded lost leak leaked leaks throttled"
        " throttling exceeded exceeds overflow overflowed break-in attack attacks suspicious violation defunct zombie"
        " dead unmet vulnerable vulnerabilities vulnerability stalled hung retrying rollback dropped",
    ),
    Rule(
        "refused in two words",
        TROUBLE,
        "timed reset authentication",
        rb"(?i:timed out|reset by|authentication fail)",
    ),
    Rule(
        "warning",
        WARNING,
        "warning warnings warn deprecated deprecation deprecationwarning *warning wrn caution",
    ),
    Rule("code of a warning", WARNING, "{code}", rb"(?::\d+|^\S+): [WCR]\d{4}[: ]"),
    Rule("note", WARNING, "note info style", rb"\((?:info|style|note)\)"),
)

# Beginnings of lines that no word announces.
MARKED_LINES = later(
    rb"^E   +\S|^\s*(?:\xe2\x9c\x95|\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9d\x8c|\xc3\x97|\xe2\xa8\xaf|\xe2\x97\x8f|\xe2\x9c\x96) ?\S|^  \d+\) \S"
)

# Parts of lines that say that there is nothing wrong: "0 errors", "no warnings", "failed: 0", "error=null".
ERROR_WORD = rb"(?:errors?|err|fail(?:ed|ures?|s|ing)?|exceptions?|warnings?|problems?|conflicts?|crashe?[sd]?|issues?|vulnerabilit(?:y|ies)|broken|lost|dropped|denied|refused|rejected|time-?outs?|unreachable|killed|unmet|dead)"
ABSENT = later(
    rb"\b(?<![.,\d])(?:0|no|zero|without|never|not|any|ignore|ignored|handle|handled|fixed|fixes|avoid)\s+(?:\w+\s+)?%s\b"
    rb"|\b%s(?:\s+count)?[\"']?\s*[:=]\s*(?:\"\"|''|[\"']?0(?![.\d])|null\b|nil\b|none\b|false\b|\[\]|\{\})"
    rb"|\b(?:errors?|exceptions?|failures?|warnings?) (?:handl\w+|messages?|pages?|boundar\w+|types?|class\w*|logs?|logging|report\w*|recovery)\b"
    % (ERROR_WORD, ERROR_WORD),
    IGNORECASE,
)
# Only lines with one of these words can say so.
ABSENT_WORDS = frozenset(
    b"0 no zero without never not any ignore ignored handle handled fixed fixes avoid null nil none false"
    b" handling handler message messages page pages types type class classes log logs logging reporting report recovery".split()
)

# A test that passed, whatever its name says; a step of a configuration that looks for something.
PASSED = later(
    rb"\s*(?:\xe2\x9c\x93|\xe2\x88\x9a|\xe2\x9c\x94|\xe2\x9c\x85|ok \d|ok +\S+\s|PASS(?:ED)?\b|--- PASS|\[ +OK +\]|\[ RUN +\]"
    rb"|=== RUN|-- (?:Looking for|Performing Test|Check(?:ing)? )|checking )"
)
# The same, if one of these words is in the line.
PASSED_WORDS = frozenset(b"passed skipped xfail xpass ok yes no done".split())
PASSED_IN = later(
    rb"(?<!\d) (?:PASSED|SKIPPED|XFAIL|XPASS)\b(?!:)|\.\.\.+ ?(?:ok|OK|passed|Passed|PASS|yes|no|done|skipped\b.*)\W*$"
)

# Statements of source code that name an error. A marker of a diff, or a position that `grep` writes, may precede.
SOURCE_CODE = later(
    rb"(?:[\w./-]*:?\d+[:-]|[-+])?\s*(?:\}\s*)?(?:"
    rb"except\b[^:]*:\s*(?:#|$)|raise\s+[A-Z][\w.]*(?:\(|\s*$|\s+from\b)|throw\s+(?:new\s+)?[A-Z]\w*|catch\s*[({]"
    rb"|class\s+\w+(?:\s*[({:]|\s+(?:extends|implements)\b)|from\s+[\w.]+\s+import\s|import\s+[\w{*]"
    rb"|(?:async\s+)?(?:def|fn|func|function)\s+\w+\s*[(<]|#\s*(?:include|define|if|endif)\b|(?://|/\*)\s|return\b.*[;)]$|if\s*\(.*\{$)"
    rb"|\s*(?:>\s*)?\d+ *\|(?: |$)|\s+\|\s|\s+(?:[^:]*[({\[,;]\s*$|[\w.]+\s*=[^=]|@\w)"
)

# A warning about a failure is still a warning.
WARNS = later(rb"(?:\S*[\s:\[(|]){0,4}[\[(]?(?:npm )?warn(?:ing)?\b(?!.*\berror:)", IGNORECASE)
