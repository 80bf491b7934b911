"""The grammar of the wrapper form, stated once: this table.

Parsing, help, environment variables, config keys, man page, completions and the README's table all
come from here. A row added is an option added everywhere.
"""

from __future__ import annotations

from tokcap.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import TypeAlias

    Value: TypeAlias = "int | float | bool | str | None"

LARGEST_NUMBER = 2**63 - 1
# Some thirty years: the kernel's own clocks take it.
LONGEST_SECONDS = 1e9

# First words that are tokcap's own. `tokcap -- show` runs a program of that name.
SUBCOMMANDS = ("show", "spill", "budget", "stats", "doctor", "hook", "manifest", "completion", "mcp")

# Those of them that this version has. The other names are kept free, so that a script which runs a
# program of that name today does not change its meaning tomorrow.
AVAILABLE = ("completion",)


class WholeNumber(Record):
    """Decimal digits and nothing else: no sign, no blank, no `1e3`."""

    minimum: int

    def read(self, raw: str) -> int:
        if not (raw.isascii() and raw.isdigit()):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        # The length is looked at first: Python refuses to convert several thousand digits.
        digits = raw.lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > LARGEST_NUMBER:
            raise ValueError(f"{shortened(raw)} is too large; at most {LARGEST_NUMBER}")
        if int(digits) < self.minimum:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return int(digits)

    @property
    def expected(self) -> str:
        return f"a whole number of at least {self.minimum}"


class Choice(Record):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, raw: str) -> str:
        if raw not in self.words:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.words)}"


class Name(Record):
    """A word that is looked up later, before anything runs."""

    expected: str

    def read(self, raw: str) -> str:
        if not raw.strip() or has_surrogates(raw):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw


class LineOfText(Record):
    """Any text that stays on one line, the empty one included."""

    expected: str = "text without line breaks or control characters"

    def read(self, raw: str) -> str:
        if any(ch < " " or ch in "\x7f\x85\u2028\u2029" for ch in raw) or has_surrogates(raw):
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return raw


class Duration(Record):
    """A time in seconds: `90`, `1.5m`, `2h`, `500ms`."""

    expected: str = "a duration such as 500ms, 10s, 1.5m or 2h, of at least a millisecond"

    def read(self, raw: str) -> float:
        number = raw.rstrip("msh")
        scale = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}.get(raw[len(number) :], 0.0)
        whole, _, fraction = number.partition(".")
        if not (number.isascii() and (whole + fraction).isdigit()) or len(number) > 15:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        seconds = float(number) * scale
        if not 0.001 <= seconds <= LONGEST_SECONDS:
            raise ValueError(f"{shortened(raw)} is not {self.expected}")
        return seconds


class Switch(Record):
    """On or off. As a flag it takes no value, and `--no-NAME` turns it off again."""

    expected: str = "one of true, false, yes, no, on, off, 1, 0"

    def read(self, raw: str) -> bool:
        word = raw.lower()
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0"):
            return False
        raise ValueError(f"{shortened(raw)} is not {self.expected}")


if TYPE_CHECKING:
    Kind: TypeAlias = WholeNumber | Choice | Name | LineOfText | Duration | Switch


class Option(Record):
    """One row of the grammar."""

    name: str
    kind: Kind
    default: Value
    help: str
    group: str
    metavar: str = ""
    short: str = ""
    # What the help says of the default where the value itself does not speak.
    default_text: str = ""

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def key(self) -> str:
        """Name in `config.toml`, and of the field in `Request`."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return f"TOKCAP_{self.key.upper()}"

    @property
    def value_name(self) -> str:
        """How the value is written in help and man page; empty for a switch."""
        if isinstance(self.kind, Choice):
            return "|".join(self.kind.words)
        return self.metavar

    @property
    def shown_default(self) -> str:
        if self.default_text:
            return self.default_text
        if isinstance(self.kind, Switch):
            return "on" if self.default else "off"
        return str(self.default)


WINDOW, FORM, COMMAND = "What is shown", "In which form", "The command"

OPTIONS = (
    Option(
        name="token-limit",
        short="n",
        kind=WholeNumber(minimum=1),
        metavar="N",
        default=None,
        default_text="none: pass everything",
        group=WINDOW,
        help="emit at most N tokens, the mark included",
    ),
    Option(
        name="token-offset",
        kind=WholeNumber(minimum=0),
        metavar="N",
        default=0,
        group=WINDOW,
        help="start at token N of the full output",
    ),
    Option(
        name="token-count",
        kind=Switch(),
        default=False,
        group=WINDOW,
        help="run to the end, emit only the number of tokens",
    ),
    Option(
        name="keep",
        kind=Choice(("head", "tail", "ends")),
        default="head",
        group=WINDOW,
        help="which part of an oversized output survives",
    ),
    Option(
        name="align",
        kind=Choice(("record", "token")),
        default="record",
        group=WINDOW,
        help="cut between records (lines) or at any token",
    ),
    Option(
        name="sentinel",
        kind=LineOfText(),
        metavar="TEXT",
        default="[TRUNCATED]",
        group=WINDOW,
        help="text of the mark; empty: no mark, windows tile arithmetically",
    ),
    Option(
        name="tokenizer",
        kind=Name(expected="the name of a tokenizer"),
        metavar="NAME",
        default="cl100k_base",
        group=FORM,
        help="cl100k_base, o200k_base, any tiktoken encoding or model name, approx "
        "(characters / 4), or a registered plug-in",
    ),
    Option(
        name="output",
        short="o",
        kind=Choice(("text", "json", "jsonl")),
        default="text",
        group=FORM,
        help="form of the response",
    ),
    Option(
        name="shape",
        kind=Choice(("auto", "text", "json", "jsonl", "csv", "tsv")),
        default="auto",
        group=FORM,
        help="what the payload is; auto: found out from the payload",
    ),
    Option(
        name="fields",
        kind=LineOfText(),
        metavar="NAMES",
        default="",
        default_text="all",
        group=FORM,
        help="keep only these keys or columns, before counting: a,b.c",
    ),
    Option(
        name="stderr",
        kind=Choice(("separate", "merge", "pass", "drop")),
        default="separate",
        group=COMMAND,
        help="what becomes of the command's stderr: capped on its own descriptor, merged into "
        "stdout in order, passed on untouched and uncounted, or dropped",
    ),
    Option(
        name="pty",
        kind=Switch(),
        default=False,
        group=COMMAND,
        help="give the command a terminal of its own; its streams are merged",
    ),
    Option(
        name="timeout",
        kind=Duration(),
        metavar="DURATION",
        default=None,
        default_text="none",
        group=COMMAND,
        help="end the command, and all that it has started, after this time: 90, 1.5m, 500ms; exit 124",
    ),
    Option(
        name="kill-after",
        kind=Duration(),
        metavar="DURATION",
        default=5.0,
        default_text="5s",
        group=COMMAND,
        help="how long they may take to end before they are killed",
    ),
)

BY_FLAG = {option.flag: option for option in OPTIONS}
BY_SHORT = {f"-{option.short}": option for option in OPTIONS if option.short}
BY_KEY = {option.key: option for option in OPTIONS}


def has_surrogates(text: str) -> bool:
    """Whether it has bytes of the command line that were no UTF-8."""
    return any("\ud800" <= ch <= "\udfff" for ch in text)


def shortened(value: object) -> str:
    """A value as it is shown in a message: quoted, and never longer than a line can bear."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    try:
        shown = repr(value)
    except ValueError:
        return "the number"  # it has more digits than Python converts
    return shown if len(shown) <= 40 else shown[:37] + "..."
