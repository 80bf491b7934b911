"""The structure of a text: headings, sections, files and definitions in a diff or a listing of source."""

from __future__ import annotations

from tokcap.lean.patterns import later
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MULTILINE = 8
IS_DIFF = later(rb"^(?:diff --git |@@ -\d)", MULTILINE)

# Beginnings of lines that start a part.
BEGINNINGS = (
    *(
        b"# ",
        b"## ",
        b"### ",
        b"diff --git ",
        b"commit ",
        b"Index: ",
        b"TASK [",
        b"PLAY ",
        b"RUNNING HANDLER",
    ),
    *(
        b"==> ",
        b"=== ",
        b"--- ",
        b"Step ",
        b"> Task ",
        b"===",
        b"***",
        b"  # ",
        b"Changes ",
        b"Stage ",
        b"::group::",
    ),
)
TITLE = later(
    rb"(?:={3,}|-{3,}|_{3,}|\*{3,}|~{3,}) ?\S.*\S ?(?:={3,}|-{3,}|_{3,}|\*{3,}|~{3,})$"
    rb"|[A-Z][A-Z0-9 _/&-]{3,40}$|\d+(?:\.\d+)*\.? [A-Z][^.]{2,60}$|\[\d+/\d+\] \S|#\d+ \[|<h\d|\[[\w .:-]+\]$|[\w./@+ -]{1,100}:$"
)
RULE_LINE = later(rb"[=~^\"*+#-]{3,}\s*$")
# Definitions in source, after a marker of a diff or the columns of a listing.
DEFINITION = later(
    rb"(?:.{0,90}?\d[):] |[-+ ])?\s{0,8}(?:export |public |private |protected |static |pub |async |abstract |final |default )*"
    rb"(?:class|def|fn|func|function|interface|struct|impl|trait|enum|module|namespace|type|CREATE TABLE)\s+[\w$]"
)
DEFINING = (
    b"class ",
    b"def ",
    b"fn ",
    b"func ",
    b"function ",
    b"interface ",
    b"struct ",
    b"impl ",
    b"trait ",
    b"enum ",
    b"CREATE ",
)


def headings(lines: Sequence[bytes], *, is_diff: bool) -> Iterator[tuple[int, str, float]]:
    """Yield the lines that start a part: place, kind, and strength from 0 to 1."""
    after_blank = True
    for n, line in enumerate(lines):
        if not line or line.isspace():
            after_blank = True
            continue
        strength = 0.0
        if is_diff and line[:1] in b"+- @":
            if line.startswith(b"@@"):
                yield n, "hunk", 0.4
            elif line[:1] != b" " and DEFINITION.match(line):
                yield n, "definition", 1.0 if line[1:7] == b"class " else 0.6 if line[1:2] != b" " else 0.4
            after_blank = False
            continue
        if line.startswith(BEGINNINGS):
            strength = 0.9
        elif not line[0] == 32 and TITLE.match(line):
            strength = 0.8 if after_blank else 0.5
        elif after_blank:
            strength = 0.5 if line[0] != 32 else 0.3
        if (
            n + 1 < len(lines)
            and RULE_LINE.match(lines[n + 1])
            and len(lines[n + 1]) >= len(line.strip())
            and len(line) > 2
            and not RULE_LINE.match(line)
        ):
            strength = 1.0
        if RULE_LINE.match(line):
            strength = 0.05
        if strength:
            yield n, "heading", strength
        elif any(word in line for word in DEFINING) and DEFINITION.match(line):
            yield n, "definition", 0.5
        after_blank = False
