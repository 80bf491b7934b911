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
        return inside("--token-count", "-o", "json", stdin=payload).json["meta"]["handle"]

    return store


def test_what_is_shown_is_clean_and_what_is_stored_stays(inside, stored):
    handle = stored(COLOURED)
    assert inside("show", handle, "--clean", "-n", "60000").out == CLEAN
    assert inside("show", handle, "-n", "1000000").out == COLOURED
    assert inside("show", handle, "--clean", "--token-count").out == b"%d\n" % recount(CLEAN)
    assert inside("show", stored(PROGRESS), "--clean").out == b"done\n"


def test_it_gives_the_window_that_a_clean_run_gives(inside, stored):
    handle = stored(COLOURED)
    for options in (["--token-offset", "700"], ["--keep", "tail"], ["--keep", "ends"], ["--align", "token"]):
        same = ("--clean", "-n", "60", "--sentinel", "", *options)
        assert inside("show", handle, *same).out == inside(*same, stdin=COLOURED).out


def test_the_printed_command_has_the_option_and_its_pages_join(inside, stored):
    handle, pages = stored(COLOURED), []
    words = ["show", handle, "--clean", "-n", "900"]
    while words:
        page, _, mark = inside(*words).out.partition(b"[TRUNCATED]")
        pages.append(page)
        words = [*way_in(mark), "-n", "900"] if mark else []
        assert "--clean" in words or not words
    assert b"".join(pages) == CLEAN


def test_a_clean_run_is_stored_clean_and_its_command_needs_no_option(inside):
    ran = inside("-n", "60", "--clean", stdin=COLOURED)
    assert b"--clean" not in ran.out
    assert inside("show", "@last", "-n", "60000").out == CLEAN


def test_lines_and_values_are_found_in_the_clean_text(inside, stored):
    handle = stored(COLOURED)
    assert inside("show", handle, "--clean", "--grep", "^line 2999$").out.startswith(b"3000:")
    assert inside("show", handle, "--grep", "^line 2999$").status == 1
    handle = stored(b'\x1b[1m{"a": [1, {"b": "words"}]}\x1b[0m\n')
    assert inside("show", handle, "--clean", "--pointer", "/a/1/b").out == b"words"
    assert inside("show", handle, "--clean", "-o", "json").json["data"] == {"a": [1, {"b": "words"}]}


@pytest.mark.parametrize("options", [["--clean"], ["--clean", "--grep", "line 7"], ["--pointer", "/0"]])
def test_positions_in_another_text_are_not_stored_as_those_of_the_output(inside, stored, options):
    payload = COLOURED if "--clean" in options else b'["' + b"word \\n" * 9000 + b'", "words"]'
    handle = stored(payload)
    inside("spill", "rm", handle)
    assert inside("-n", "20", "-o", "json", stdin=payload).json["meta"]["handle"] == handle
    before = inside("show", handle, "-n", "100", "--token-offset", "8000").out
    inside("spill", "rm", handle)
    inside("-n", "20", "-o", "json", stdin=payload)
    grep = ["--grep", "word"] if "--pointer" in options else []
    assert inside("show", handle, *options, *grep, "-n", "20").status == 0
    assert inside("show", handle, "-n", "100", "--token-offset", "8000").out == before


def test_the_end_of_a_large_output_is_cleaned(inside, stored):
    handle = stored(COLOURED * 40)
    shown = inside("show", handle, "--clean", "-n", "30", "--keep", "tail").out
    assert shown.endswith(b"line 2999\n")


@examples(15)
@given(text=st.text(st.sampled_from("ab \n\r\t\x1b[1m;3é漢\x08"), min_size=1, max_size=200))
def test_show_and_run_clean_alike(inside, text):
    handle = inside("--token-count", "-o", "json", stdin=text.encode()).json["meta"]["handle"]
    shown = inside("show", handle, "--clean", "-n", "60000").out
    assert shown == inside("--clean", "-n", "60000", stdin=text.encode()).out
