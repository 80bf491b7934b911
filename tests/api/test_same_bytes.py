"""`cap` and the command line write the same bytes for the same input and options."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.support import corpus
from tests.support.tiers import examples
from tokcap import TokcapError, cap

PAYLOADS = [*corpus.TRICKY_TEXT, *corpus.TRICKY_JSON, *corpus.TRICKY_TABLES, *corpus.case_inputs()]
CHOICES = {
    "offset": [0, 1, 7, 30, 200, 10**6],
    "tokenizer": ["cl100k_base", "o200k_base", "approx"],
    "shape": ["auto", "text", "json", "jsonl", "csv", "tsv"],
    "keep": ["head", "tail", "ends"],
    "align": ["record", "token"],
    "sentinel": ["[TRUNCATED]", "", "… cut …"],
    "fields": ["a", "a,b.c", "/b/0,zz"],
    "mode": ["raw", "table", "summary", "handle_only"],
    "output": ["text", "json", "jsonl"],
    "exact_total": [True],
    "token_count": [True],
    "clean": [True],
    "redact": [True],
    "context_window": [4000, 100_000],
}
CALLS = st.fixed_dictionaries(
    {"limit": st.sampled_from([None, 1, 3, 10, 25, 60, 150, 400])},
    optional={name: st.sampled_from(values) for name, values in CHOICES.items()},
)
DATA = st.builds(
    lambda payload, times: payload * times, st.sampled_from(PAYLOADS), st.sampled_from([1, 1, 9])
)


def arguments_of(options: dict[str, object]) -> list[str]:
    """Return the options as arguments of the command line."""
    words = []
    for name, value in options.items():
        flag = f"--token-{name}" if name in ("limit", "offset") else "--" + name.replace("_", "-")
        if value is not None:
            words.append(flag if value is True else f"{flag}={value}")
    return words


def without_duration(data: bytes) -> bytes:
    return re.sub(rb'"duration_ms":\d+', b"", data)


def refusal_of(ran) -> bytes:
    return ran.err.removeprefix(b"tokcap: ").rstrip(b"\n")


@examples(150)
@given(data=DATA, options=CALLS)
def test_cap_returns_the_same_bytes_as_the_command_line(data, options, inside):
    ran = inside(*arguments_of(options), stdin=data)
    try:
        found, expected = cap(data, **options).data, ran.out
    except TokcapError as error:
        # An envelope contains the message too.
        found, expected = str(error).encode(), refusal_of(ran)
    assert without_duration(found) == without_duration(expected)
