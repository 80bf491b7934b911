"""The table of rules: how outputs say that something failed, and how a run ended.

A new rule is a row in `ROWS` and a line in a case file of `tests/focus/cases`. Its words say which lines it
looks at, so a text without them costs nothing; its pattern says which of these lines are meant. Patterns are
for one line without escape sequences. Each is compiled when a line has one of its words.

A search is ten times as fast if all matches begin with a character of one set, `[se](?:(?<=s)…|(?<=e)…)`, or
at the beginning of the line, `^…|^…`. So rules for many lines have one of these forms; `(?<=\\b.)` after the
set says that a word begins there.
"""

from __future__ import annotations

from tokcap.startup.patterns import later

# The kinds of failures and results, the most important first.
CRASH, SUMMARY, ERROR, FAILED, TROUBLE, WARNING = "crash", "summary", "error", "failed", "trouble", "warning"
KINDS = (CRASH, SUMMARY, ERROR, FAILED, TROUBLE, WARNING)


# What tools say in the languages of their users: a failure and a warning in one word, as tools write it. `*`
# stands for the rest of a word, which may be a whole sentence in Chinese, Japanese and Korean.
FAILURES_ABROAD = """
fehler fehlgeschlagen ungültig ungültige ungültiger verweigert abgebrochen unbekannte unbekannter
schreibfehler
erreur erreurs échec échoué échouée refusée refusé impossible introuvable inconnu inconnue invalide
errores fallo falló fallaron fallado denegado inválido inválida imposible desconocido
erro erros falha falhou falharam negada negado impossível Impossível desconhecido
errore errori fallito fallita fallimento negato negata impossibile sconosciuto
fout fouten mislukt geweigerd onbekend onbekende ongeldig ongeldige
błąd Błąd błędy błędów niepowodzenie odmowa nieprawidłowy nieznany nieznana
ошибка Ошибка ошибки Ошибки ошибок отказано Отказано невозможно Невозможно неверный Неверный
неизвестный сбой Сбой
помилка Помилка помилки помилок відмовлено Відмовлено неможливо Неможливо невідомий
hata hatası hatalar başarısız reddedildi geçersiz bulunamadı açılamadı açılamıyor erişilemedi alınamıyor
fel skrivfel misslyckades nekad nekas ogiltig okänd fejl skrivefejl mislykkedes nægtet ugyldig ukendt
virhe epäonnistui evätty estetty virheellinen chyba chyby selhalo selhal odepřen neplatný neznámý nelze Nelze
hiba sikertelen megtagadva meghiúsult érvénytelen ismeretlen
*错误* *錯誤* *失败* *失敗* *无法* *無法* *找不到* *没有那个文件* *权限不够* *拒绝* *拒絕* *エラー*
*できません* *見つかりません* *ありません* *拒否* *오류* *실패* *없습니다* *거부*
""".encode()
WARNINGS_ABROAD = """
warnung achtung avertissement advertencia atención aviso avviso attenzione waarschuwing ostrzeżenie
предупреждение Предупреждение попередження Попередження
uyarı varning advarsel varoitus varování figyelmeztetés *警告* *경고*
""".encode()
# Lines that do not count zero: `0 Fehler`, `0 ошибок`, `Fehler: 0`.
COUNTED_ABROAD = (
    rb"^(?!.*(?:\b(?:0|[Kk]eine|[Aa]ucune|[Ss]in|[Ss]em|[Nn]essun|[Gg]een|[Ii]nga|[Ii]ngen"
    rb"|[Bb]ez) (?:[EFWAVCHefwavch]"
    rb"|[\x80-\xff])|[A-Za-z\x80-\xff] ?: ?0\b))"
)


# The rules of each kind: name, words and pattern. Lines that have one of the words and match the pattern are
# of this kind. Words are in lower case; `*error` is every word that ends so, `{code}` a code like `F821`. An
# empty pattern matches every line.
ROWS = {
    # The end of a program: exceptions, signals, panics.
    CRASH: (
        (
            "exception",
            b"*error *exception *interrupt *notfound systemexit stopiteration assertionfailure",
            rb"(?:^|[\s:(\]>])(?:[\w$]+(?:\.|::|\\))*[A-Z][\w$]*(?:Error|Exception|Interrupt|NotFound"
            rb"|SystemExit|Failure|Iteration)\b(?: \[\w+\]|\(\d+\))?(?::|\s*$)",
        ),
        ("exception that nobody caught", b"uncaught unhandled", rb"(?i:un(?:caught|handled)) \S"),
        (
            "exception in a thread",
            b"exception caused nested",
            rb"^Exception in thread|^Caused by: |nested exception is",
        ),
        ("traceback", b"traceback backtrace", rb"^\s*(?:Traceback \(most|stack backtrace|Backtrace)"),
        (
            "panic",
            b"panic panicked fatal goroutine sigsegv",
            rb"^(?:fatal error|panic|PANIC): |panicked at|kernel panic|Kernel panic|^\[signal SIG",
        ),
        (
            "signal",
            b"segmentation core bus smashing free floating illegal",
            rb"(?i:segmentation fault|core dumped|\bbus error|stack smashing|double free or"
            rb"|floating point exception|illegal instruction)",
        ),
        (
            "signal by name",
            b"sigsegv sigabrt sigbus sigill sigfpe sigkill killed aborted",
            rb"\bSIG(?:SEGV|ABRT|BUS|ILL|FPE|KILL)\b|^Killed\b|^Aborted\b",
        ),
        (
            "sanitizer",
            b"addresssanitizer threadsanitizer memorysanitizer leaksanitizer undefinedbehaviorsanitizer"
            b" runtime",
            rb"(?:ERROR|WARNING|SUMMARY): \w+Sanitizer|: runtime error: ",
        ),
        (
            "valgrind",
            b"invalid mismatched uninitialised conditional lost",
            rb"^==\d+== *(?:Invalid|Mismatched|Use of|Conditional|.* definitely lost in)",
        ),
        (
            "out of memory",
            b"memory space oomkilled oom-kill oom-killer files",
            rb"(?i:\bout of memory\b|\boom-?kill|cannot allocate memory|heap out of memory"
            rb"|no space left on device|too many open files)",
        ),
        (
            "fatal",
            b"fatal emerg emergency critical crit severe ftl",
            rb"(?:^|[\s:|>\[(])(?:fatal|Fatal|FATAL|emerg|EMERG\w*|FTL|CRIT(?:ICAL)?|Critical|critical|crit"
            rb"|SEVERE|Severe)(?:[\])]|: |\s*\||\s+\S)",
        ),
        (
            "merge conflict",
            b"conflict modified added merge",
            rb"^CONFLICT \(|^\s*both (?:modified|added):|Automatic merge failed|\bmerge conflict",
        ),
        ("dependency conflict", b"unmet eresolve resolutionimpossible", b""),
    ),
    # The result of a run.
    SUMMARY: (
        (
            "failures counted",
            b"failed failing failures failure errors error errored problems problem broken crashed tests"
            b" fail unreachable",
            rb"[1-9](?<![\w.,:/-].)[\d,]* (?:\w+ )?(?:\(s\) )?(?:failed|failing|failures?|errors?|errored"
            rb"|problems?|broken|crashed)\b(?! (?:message|log|page))|[TtFfEeuc](?<=\b.)(?:(?<=[Tt])ests"
            rb"|(?<=[Ff])ail(?:ed|ures?|s)?|(?<=F)AIL(?:ED|URES?)?|(?<=[Ee])rrors|(?<=E)RRORS"
            rb"|(?<=u)nreachable|(?<=c)rashed)\b['\"]?\s{0,2}[:=]\s{0,3}[1-9]\d*\b(?![./:]\w)",
        ),
        (
            "passes counted",
            b"passed passing tests examples ran test specs assertions",
            rb"\b\d+ pass(?:ed|ing)\b|^[\s*=#-]*\d+ (?:tests?|specs?|examples?|assertions?)(?:,| ran| run"
            rb"| passed| completed| finished| in \d)|^Ran \d+ test|^OK \(\d+ test|^Tests?(?: Suites| Files"
            rb"| run)?:\s+\d|\d+% tests passed|^test result: |^# (?:tests|pass) ",
        ),
        (
            "verdict",
            b"failed failures fail",
            rb"^\W{0,3}(?:OK|FAILED|FAILURES!?|FAIL|PASS) ?(?:\(|!?$)|^# fail [1-9]|^FAIL\t|^Result: FAIL",
        ),
        (
            "findings reported",
            b"found generated emitted errors problems issues vulnerabilities offenses violations warnings"
            b" detected",
            rb"^\W*(?:[Ff]ound|[Gg]enerated|[Ee]mitted|[Rr]eported) [\d,]+ \w+"
            rb"|[\d,](?<=\b.)[\d,]* (?:errors?|problems?|issues?|vulnerabilit(?:y|ies)|offenses?"
            rb"|violations?|warnings?)\b(?: \(|,| and| in | found| generated| detected| emitted|\.?\s*$)",
        ),
        ("summary of errors", b"summary", rb"\b(?:ERROR|HEAP|LEAK) SUMMARY|^SUMMARY: "),
        (
            "build ended",
            b"build compilation compile compiling collect2 subcommands aborting finished linking",
            rb"(?i:\bbuild (?:failed|failure|successful|succeeded|success|stopped|finished|completed)\b"
            rb"|\bcompilation (?:failed|terminated|aborted|error)|could not compile|^collect2: "
            rb"|subcommands? failed|aborting due to)|^\s*Finished [`a-z]",
        ),
        (
            "make stopped",
            b"make gmake ninja ***",
            rb"^\S*make(?:\.exe)?(?:\[\d+\])?: \*\*\*|^\*\*\* \[|^ninja: (?:build stopped|error|fatal)",
        ),
        (
            "plan",
            b"plan apply destroy add upgraded added changed insertions insertion deletions",
            rb"^\W*(?:Plan|Apply complete|Destroy complete)[:!]|\b\d+ (?:to add|upgraded, \d+|added, \d+"
            rb"|changed, \d+)|^ *\d+ files? changed, \d+",
        ),
        ("recap", b"unreachable", rb"\bok=\d+\s+changed=\d+.*(?:unreachable|failed)=[1-9]"),
        (
            "installed",
            b"successfully packages complete installed audited removed",
            rb"^\W*(?:Successfully (?:installed|built|tagged|uninstalled|copied|created)|added \d+ packages"
            rb"|Installed \d+|Bundle complete|Complete!)",
        ),
        ("rating", b"rated coverage total", rb"\brated at [-\d.]+/\d|^TOTAL\b.*\d%|\bcoverage: [\d.]+%"),
        (
            "exit status",
            b"exit exited code status returned non-zero",
            rb"(?i:\b(?:exit(?:ed|s)?|finished|terminated|returned|failed)(?: with)?(?: an?)?(?: (?:exit"
            rb"|return|error))?(?: (?:code|status))? ?[:=]?[ (]*[1-9]\d{0,2}\b|returned (?:a )?non-zero"
            rb"|\+\+\+ exited with)",
        ),
        (
            "totals",
            b"total real elapsed duration sent done finished completed time",
            rb"^(?:total|Total|TOTAL|real|Elapsed|Duration|Time|Finished|Done|DONE"
            rb"|Completed)\b[^.!?]{0,60}\d|\bsent [\d,.]+\w* bytes|\btotal size is\b",
        ),
    ),
    # One thing that failed: a diagnostic of a compiler, an entry of a log, a message of a tool.
    ERROR: (
        (
            "error at the beginning",
            b"error errors",
            rb"^\W{0,4}(?:fatal |syntax )?(?:[Ee]rror|ERROR)(?:\[[\w:-]+\]|\([\w:-]+\)| in | at )?!?(?::"
            rb"|\s)",
        ),
        (
            "compiler error",
            b"error errors",
            rb"[:e(](?:(?<=[)\w]:) (?:fatal |internal compiler |syntax )?(?i:error)(?: ?\[?[\w-]+\]?)?:"
            rb"|(?<=:) (?:fatal )?error [A-Z]+\d+|(?<=\be)rror\[E\d+\]|(?<=\()error\))",
        ),
        (
            "linker",
            b"undefined multiple unresolved symbol symbols cannot ld duplicate",
            rb"undefined reference to|multiple definition of|unresolved external|[Uu]ndefined symbol"
            rb"|symbol\(s\) not found|cannot find -l|ld returned \d|duplicate symbol",
        ),
        (
            "package manager",
            b"err error e",
            rb"^E: |^error Command|[ngpyl](?<=\b.)(?:(?<=n)pm|(?<=g)yp|(?<=p)npm|(?<=y)arn"
            rb"|(?<=l)erna)[ \d.]*(?:ERR!|error\b)",
        ),
        (
            "log level",
            b"error err alert eror level panic severity lvl",
            rb"(?:^|[\s\[|<(:])(?:ERROR|ERR|EROR)(?:[\]|>)]|:|\s{1,5}\S)|\blevel[\"']?[=:]\s?[\"']?(?:error"
            rb"|fatal|panic|crit)|[\"'](?:severity|lvl)[\"']: ?[\"']?(?i:error|fatal|critical)|\[(?:error"
            rb"|crit|alert|emerg)\]",
        ),
        ("database", b"psql error fatal detail", rb"^(?:psql:\S* )?(?:ERROR|FATAL|DETAIL):  "),
        (
            "refused query",
            b"syntax sqlstate violates duplicate deadlock",
            rb"[sSvd](?:(?<=\b[sS])(?i:yntax error\b)|(?<=S)QLSTATE|(?<=v)iolates \S+ (?:\S+ )?constraint"
            rb"|(?<=d)uplicate key|(?<=d)eadlock detected)",
        ),
        (
            "severity",
            b"severity high",
            rb"(?i:\bseverity[\"']?\s*[:=]\s*[\"']?(?:high|critical|error|blocker))|\bHIGH\b",
        ),
        (
            "status of a container",
            b"crashloopbackoff oomkilled imagepullbackoff errimagepull evicted backoff failedscheduling"
            b" failedmount unhealthy accessdenied",
            b"",
        ),
        (
            "play",
            b"failed unreachable fatal",
            rb"^(?:fatal|failed): \[|[FU](?<=\b.)(?:(?<=F)AILED|(?<=U)NREACHABLE)!",
        ),
        (
            "refused request",
            b"400 401 403 404 405 409 410 413 422 429 500 501 502 503 504",
            rb"(?i:http(?:/[\d.]+)?\"?|status(?:[ _]?code)?)[\"':= ]{1,3}[45]\d\d\b|\" 5\d\d ",
        ),
        (
            "failed call",
            b"econnrefused econnreset enoent eacces eperm eaddrinuse etimedout enotfound eai_again epipe"
            b" eexist eintegrity elsproblems ehostunreach enetunreach eio enospc emfile enomem",
            b"",
        ),
        ("code of an error", b"{code}", rb"(?::\d+|^\S+): (?:[EF]\d{4}|F\d{3}|E9\d\d)[: ]"),
    ),
    # A part of a run that failed: a test, a step, a file.
    FAILED: (
        (
            "failed test",
            b"failed fail failure error errored not broken exception timeout",
            rb"^\W{0,6}(?:FAILED|FAIL|ERROR|FAILURE|ERRORED|not ok|BROKEN)(?:\s*[:(]|[ \t]+\S)|^\s*--- FAIL"
            rb"|[FE\].*:\[<](?:(?<=\b[FE])(?:(?<=F)AIL(?:ED|URE)?|(?<=E)RROR)\W*(?:\[ *\d+%\]\W*"
            rb"|\([\d.]+ ?m?s\)\W*)?$|(?<=\]) (?:FAILED|ERROR|FAIL) \S|(?<=\.)\.\. ?(?:FAILED|FAIL|ERROR"
            rb"|failed)\b|(?<=\*)\*\*(?:Failed|Exception|Timeout|Not Run)|(?<=:) Failure\s*$"
            rb"|(?<=\[)  ?FAILED  ?\]|(?<=<)<< (?:FAILURE|ERROR)!)",
        ),
        (
            "assertion",
            b"assert assertion assertionerror expected actual received left right got want",
            rb"(?i:\bassert(?:ion)?(?:error)?(?: failed)?\b ?[:'`(]|\bexpected\b.*(?:\bbut\b|\bgot\b"
            rb"|\bactual|received|\bto (?:be|equal|have|match|contain))|^\s*(?:expected|actual|received"
            rb"|left|right|got|want)\b ?(?:\(.*\))?[:=])|^>\s+assert ",
        ),
    ),
    # Words of failure in a sentence.
    TROUBLE: (
        (
            "freed memory",
            b"freed free previously",
            rb"^(?:freed|previously allocated) by thread|\bfree'd\s*$",
        ),
        (
            "failed",
            b"failed failure failures failing fails fail errors error err exception exceptions abort"
            b" aborted aborting aborts crash crashed crashes fault faults broken corrupt corrupted"
            b" corruption invalid illegal malformed panic bad",
            b"",
        ),
        (
            "not possible",
            b"cannot can't couldn't unable unexpected undefined undeclared unresolved unsatisfied"
            b" unsupported unavailable incompatible mismatch mismatched unrecognized unknown conflict"
            b" conflicts conflicting diverged deadlock",
            b"",
        ),
        (
            "not",
            b"not doesn't isn't don't",
            rb"[nNdDiI](?i:(?<=n)ot (?:be )?(?:found|permitted|allowed|exist|match|a git|a valid|installed"
            rb"|recogni[sz]ed|defined|supported|available|implemented|reachable|ready|running|find|resolve"
            rb"|possible|satisf|appear|contain|declared|have|been declared)|(?<=d)oesn't (?:exist|match"
            rb"|have)|(?<=i)sn't )",
        ),
        ("could not", b"could", rb"(?i:\bcould not\b)"),
        (
            "no such",
            b"no",
            rb"(?i:\bno such \w|\bno (?:matching|module|space|route|rule|method|value|candidate|member"
            rb"|version|field|package|free|address|default)\b)",
        ),
        (
            "requested",
            b"depends requires required must mean related has requested",
            rb"^\s*The user requested|[drmDih](?:(?<=\b.)(?:(?<=d)epends on\b|(?<=r)equire(?:s \S|d\b)"
            rb"|(?<=m)ust (?:be|have|first))|(?<=[Dd])id you mean|(?<=i)s related to|(?<=h)as no \w)",
        ),
        (
            "refused",
            b"denied refused rejected forbidden unauthorized timeout timeouts expired unreachable"
            b" disconnect disconnected killed terminated interrupted evicted backoff back-off unhealthy"
            b" degraded lost leak leaked leaks throttled throttling exceeded exceeds overflow overflowed"
            b" break-in attack attacks suspicious violation defunct zombie dead unmet vulnerable"
            b" vulnerabilities vulnerability stalled hung retrying rollback dropped",
            b"",
        ),
        (
            "refused in two words",
            b"timed reset authentication",
            rb"(?i:timed out|reset by|authentication fail)",
        ),
        ("failure in another language", FAILURES_ABROAD, COUNTED_ABROAD),
        (
            "not in another language",
            "nicht niet pas no non não nie не Не нет Нет немає inte ikke ei nem".encode(),
            "(?i:k(?:ann|onnten?) .*nicht|nicht gefunden|kan .*niet|kon .*niet|niet gevonden|aucun fichier"
            "|n'est pas |no se (?:puede|pudo|pudieron|encontr|ha podido)|no existe|non (?:trovat"
            "|valid|riusc|esist)"
            "|não (?:foi poss|encontrad|existe|é poss|pode)|nie (?:można|znaleziono|ma takiego|udało)"
            "|(?:kan|kunde) inte|inte hitta|(?:kan|kunne) ikke|ei (?:voi|löydy|onnistu)"
            "|nem (?:található|lehet|sikerült))"
            "|[Нн]е (?:удал|найден|вдал|знайден|можу)|[Нн]ет (?:такого|доступа)|немає".encode(),
        ),
        ("call without an answer", b"connect", rb"\bconnect\(\d+, \{sa_family=AF_INET6?,.* = -1 E"),
    ),
    # What may go wrong later.
    WARNING: (
        (
            "warning",
            b"warning warnings warn deprecated deprecation deprecationwarning *warning wrn caution",
            b"",
        ),
        ("warning in another language", WARNINGS_ABROAD, COUNTED_ABROAD),
        ("code of a warning", b"{code}", rb"(?::\d+|^\S+): [WCR]\d{4}[: ]|\((?:info|style|note)\)"),
    ),
}

# Name, kind, words and pattern of each rule.
RULES = tuple((name, kind, words, pattern) for kind, rows in ROWS.items() for name, words, pattern in rows)

# Lines that are marked as failed without a word: `E   assert 1 == 2`, `✕ adds`, `● Calculator`, `  1) Login`.
# If none of these is in a text after a line end, no line of the text is marked so.
MARKS = (b"\nE   ", b"\n  1) ", b"\xe2\x9c", b"\xe2\x9d\x8c", b"\xc3\x97", b"\xe2\xa8\xaf", b"\xe2\x97\x8f")
MARKED_LINES = later(
    rb"E   +\S|\s*(?:\xe2\x9c\x95|\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9d\x8c|\xc3\x97|\xe2\xa8\xaf|\xe2\x97\x8f"
    rb"|\xe2\x9c\x96) ?\S|  \d+\) \S"
)
