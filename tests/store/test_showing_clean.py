"""`show --clean`: a stored output as a terminal would finally show it. Offsets count in that text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.marks import way_in
from tests.support.reference import recount
from tests.support.tiers import examples

pytestmark = pytest.mark.usefixtures("with_store")

COLOURED = b"".join(b"\x1b[3%dmline %d\x1b[0m   \n" % (number % 8, number) for number in range(3000))
CLEAN = b"".join(b"line %d\n" % number for number in range(3000))
PROGRESS = b"".join(b"\r%d%%" % number for number in range(100)) + b"\rdone\n"


@pytest.fixture
def stored(inside):
    def store(payload: bytes) -> str:
        return inside("--token-count", "--spill", "always", "-o", "json", stdin=payload).json["meta"][
            "handle"
        ]

    return store


def test_what_is_shown_is_clean_and_what_is_stored_stays(inside, stored):
    handle = stored(COLOURED)
    assert inside("show", handle, "--clean", "-n", "60000").out == CLEAN
    assert inside("show", handle, "-n", "1000000").out == COLOURED
    assert inside("show", handle, "--clean", "--token-count").out == b"%d\n" % recount(CLEAN)
    assert inside("show", stored(PROGRESS), "--clean").out == b"done\n"


def test_the_printed_command_has_the_option_and_its_pages_join(inside, stored):
    handle, pages = stored(COLOURED), []
    words = ["show", handle, "--clean", "-n", "900"]
    while words:
        page, _, mark = inside(*words).out.partition(b"[TRUNCATED]")
        pages.append(page)
        words = [*way_in(mark), "-n", "900"] if mark else []
        assert "--clean" in words or not words
    assert b"".join(pages) == CLEAN


def test_lines_and_values_are_found_in_the_clean_text(inside, stored):
    handle = stored(COLOURED)
    assert inside("show", handle, "--clean", "--grep", "^line 2999$").out.startswith(b"3000:")
    assert inside("show", handle, "--grep", "^line 2999$").status == 1
    handle = stored(b'\x1b[1m{"a": [1, {"b": "words"}]}\x1b[0m\n')
    assert inside("show", handle, "--clean", "--pointer", "/a/1/b").out == b"words"
    assert inside("show", handle, "--clean", "-o", "json").json["data"] == {"a": [1, {"b": "words"}]}


@examples(15)
@given(text=st.text(st.sampled_from("ab \n\r\t\x1b[1m;3é漢\x08"), min_size=1, max_size=200))
def test_show_and_run_clean_alike(inside, text):
    handle = inside("--token-count", "--spill", "always", "-o", "json", stdin=text.encode()).json["meta"][
        "handle"
    ]
    shown = inside("show", handle, "--clean", "-n", "60000").out
    assert shown == inside("--clean", "-n", "60000", stdin=text.encode()).out
