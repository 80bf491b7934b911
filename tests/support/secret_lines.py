"""Lines that tools print, with and without secrets, from `tests/filters/lines`.

In `secrets.txt`, a secret stands between « and », `¶` is a line end within one sample, `␀` a NUL byte, and
`# ` begins a comment. `{NAME}` is a token of `secret_samples`: it is put together there, so that no scanner
takes the file for a leak.
"""

from tests.support import secret_samples as samples
from tests.support.program import ROOT

MASK = "[REDACTED]"
LINES = ROOT / "tests" / "filters" / "lines"


def _filled(text: str) -> str:
    shown = samples.GITHUB[:4] + "«" + samples.GITHUB[4:] + "»"
    return (
        text.replace("{GITHUB_SHOWN}", shown)
        .replace("{GITHUB_REST}", "A1b2" * 9)
        .replace("{JWT_REST}", samples.JWT[3:])
        .replace("{AWS_SECRET}", samples.AWS_SECRET)
        .replace("{WORD}", samples.WORD)
        .replace("␀", "\0")
        .replace("¶", "\n")
    )


def _masked(text: str) -> str:
    while "«" in text:
        before, _, rest = text.partition("«")
        text = before + MASK + rest.partition("»")[2]
    return text


# What a tool prints, and what is left of it.
SECRETS = [
    (_filled(line).replace("«", "").replace("»", ""), _masked(_filled(line)))
    for line in (LINES / "secrets.txt").read_text("utf-8").splitlines()
    if not line.startswith("# ")
]
HARMLESS = (LINES / "harmless.txt").read_text("utf-8").splitlines()
