"""Any JSON document as source text, and windows of it."""

import json

from hypothesis import strategies as st

from tests.support.samples import Sample

# Leaves as source text: a window must copy them unchanged.
SCALARS = st.one_of(
    st.sampled_from(
        ["0", "-1", "1.10", "1E400", "12345678901234567890.10", "true", "false", "null", '""', "[]", "{}"]
    ),
    st.sampled_from([r'"\ud800"', r'"\u0041\/"', '"]}"', r'"\"\\"', '"漢字 🧑"', '"a b c"']),
    st.integers(-(10**9), 10**9).map(str),
    st.text(max_size=10).map(lambda text: json.dumps(text, ensure_ascii=False)),
)
KEYS = st.one_of(
    st.sampled_from(['"a"', '"b"', '""', r'"\u0061"', '"a/b~c"']), st.text(max_size=4).map(json.dumps)
)
BLANK = st.sampled_from(["", " ", "\n  ", "\t"])


@st.composite
def members(draw, values):
    pairs = draw(st.lists(st.tuples(KEYS, values), min_size=1, max_size=5))
    blank = draw(BLANK)
    return "{" + ",".join(f"{blank}{key}:{blank}{value}" for key, value in pairs) + blank + "}"


@st.composite
def elements(draw, values):
    blank = draw(BLANK)
    return (
        "["
        + ",".join(blank + value for value in draw(st.lists(values, min_size=1, max_size=6)))
        + blank
        + "]"
    )


DOCUMENTS = st.recursive(SCALARS, lambda values: members(values) | elements(values), max_leaves=40)
CONTAINERS = DOCUMENTS.map(lambda text: text if text[0] in "[{" else f"[{text}]")
SEQUENCES = st.lists(CONTAINERS, min_size=2, max_size=6).map("\n".join)


class Raw(str):
    """A number as it is written."""


def parsed(text: str):
    """Parse a document. Numbers stay as written; objects become tuples of pairs, to keep all keys."""
    return json.loads(text, object_pairs_hook=tuple, parse_int=Raw, parse_float=Raw)


def leaves(value, pointer=""):
    """Yield every scalar and empty container with its pointer."""
    if isinstance(value, tuple) and value:
        for key, child in value:
            yield from leaves(child, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for number, child in enumerate(value):
            yield from leaves(child, f"{pointer}/{number}")
    else:
        yield pointer, value


def records_in(data: bytes) -> int | None:
    """The length of an array, or of the only array in an object, by the standard library."""
    top = json.loads(data, object_pairs_hook=tuple)
    arrays = [top] if isinstance(top, list) else [pair[1] for pair in top] if isinstance(top, tuple) else []
    lengths = [len(array) for array in arrays if isinstance(array, list)]
    return lengths[0] if len(lengths) == 1 else None


class Source(Sample):
    output = "json"

    def __init__(self, text: str, *, lines: bool = False) -> None:
        super().__init__(text.encode("utf-8", "surrogatepass"), "jsonl" if lines else "json")


def is_within(few, many):
    """Return whether `few` is `many` with some values left out."""
    rest = iter(many)
    return all(any(value == other for other in rest) for value in few)
