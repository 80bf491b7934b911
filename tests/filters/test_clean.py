"""--clean shows what a terminal would finally show. A pair added under captures/ is a test added."""

import json
import tracemalloc
from functools import wraps
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.escapes import PIECES
from tests.support.program import ROOT
from tests.support.tiers import examples
from tokcap.filters import screen
from tokcap.filters.clean import Cleaner

CAPTURES = sorted((ROOT / "tests" / "filters" / "captures").glob("*.raw"))

noise = st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=40).map(b"".join)


def clean(*blocks: bytes) -> bytes:
    cleaner = Cleaner()
    return b"".join([*map(cleaner.feed, blocks), cleaner.flush()])


def on_both_screens(law):
    """Check a law on a tiny screen too, where what is rare on a real one happens all the time."""

    @wraps(law)
    def checked(**given):
        law(**given)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(screen, "ROWS", 3)
            patch.setattr(screen, "COLUMNS", 12)
            patch.setattr(screen, "EDGE", 10)
            law(**given)

    return checked


@given(data=noise, cuts=st.lists(st.integers(0, 200), max_size=8))
@examples(100)
@on_both_screens
def test_the_result_is_the_same_for_every_chunking(data, cuts):
    places = [0, *sorted(cuts), len(data)]
    whole = clean(data)
    assert clean(*(data[a:b] for a, b in pairwise(places))) == whole
    assert clean(*(data[at : at + 1] for at in range(len(data)))) == whole


@given(data=noise)
@examples(100)
@on_both_screens
def test_clean_text_is_not_changed(data):
    once = clean(data)
    assert clean(once) == once


@given(data=noise)
@examples(100)
@on_both_screens
def test_no_control_character_trailing_blank_or_second_blank_line_is_left(data):
    text = clean(data)
    assert not set(text) & ({*range(0x20), 0x7F} - {*b"\t\n"})
    assert not {"\x80", "\x85", "\x9b", "\x9d"} & set(text.decode("utf-8", "ignore"))
    assert all(line == line.rstrip(b" \t") for line in text.split(b"\n"))
    assert b"\n\n\n" not in text
    assert not text.startswith(b"\n\n")


@given(lines=st.lists(st.binary(min_size=1, max_size=40), max_size=200), newline=st.booleans())
@on_both_screens
def test_plain_text_passes_byte_for_byte(lines, newline):
    hard = bytes({*range(0x20), 0x7F, 0xC2} - {*b"\t"})
    text = b"\n".join(line.translate(None, hard).rstrip() + b"." for line in lines) + b"\n" * newline
    assert clean(text) == text


@examples(25)
@given(st.recursive(st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_stays_the_same_document(document):
    assert json.loads(clean(json.dumps(document).encode())) == document


def test_a_capture_comes_out_as_its_file_says():
    for path in CAPTURES:
        assert clean(path.read_bytes()) == path.with_suffix(".txt").read_bytes(), path.name


REWRITTEN = (
    ("hello\rHE\n", "HEllo\n"),
    ("50%\r\x1b[Kdone\r\n", "done\n"),
    ("working...\r\x1b[2K", ""),
    ("abc\b\bX", "aXc"),
    ("N\bNA\bA_\bx", "NAx"),
    ("a\x1b[5Gb\x1b[2Dc", "a  cb"),
    ("abcdef\x1b[3G\x1b[1K", "   def"),
    ("abcdef\x1b[3G\x1b[2X", "ab  ef"),
    ("hello\x1b[3D\x1b[2Pxx", "hexx"),
    ("abcdef\x1b[4G\x1b[9P", "abc"),
    ("abc\x1b[2D\x1b[2@X", "aX bc"),
    ("a\tb\x1b[2D\x1b[Pc", "a      c"),
    ("日本語\x1b[4D\x1b[P", "日 語"),
    ("日本語\x1b[5D\x1b[@", "   本語"),
    ("1\n2\n3\x1b[2A\x1b[L0", "0\n1\n2\n3"),
    ("1\n2\n3\x1b[A\x1b[2Lx", "1\nx\n\n2\n3"),
    ("1\n2\n3\x1b[2A\x1b[Mx\n", "x\n3"),
    ("1\n2\n3\x1b[9Mz", "1\n2\nz"),
    ("日本\rx", "x 本"),
    ("日本\x1b[2Gx", " x本"),
    ("e\u0301a\rxy", "xy"),
    ("e\u0301a\x1b[2Gy", "e\u0301y"),
    ("a\tb\x1b[9Gc", "a\tc"),
    ("a\tb\x1b[3Gc", "a c     b"),
    ("x\x1b[999Cy", "x" + " " * 255 + "y"),
    ("a\nb\n\x1b[2A\x1b[2KA\n\x1b[2KB\n", "A\nB\n"),
    ("one\ntwo\x1b[1A\x1b[J", "one"),
    ("kept\n\x1b[s12\x1b[u3", "kept\n32"),
    ("a\x1b[H\x1b[2Jb", "b"),
    ("a\x1bcb", "b"),
    ("shell\n\x1b[?1049heditor\x1b[?1049lback", "shell\nback"),
    ("shell\x1b[?1049hkilled", "shell\nkilled"),
    ("\x1b(0lqk\x1b(B", "lqk"),
    ("\x9b31mred\x9b0m\x85\x9d0;title\x9cnext", "red\nnext"),
    ("\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x07", "text"),
    ("\x1b]0;no end\ntext", "\ntext"),
    ("\x1bPq#0;2;0\n0~~\x1b\\text", "text"),
    ("\x1b_G;\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\text", "text"),
    ("\x1b[31\ntext", "\ntext"),
    ("\x1b[31étext", "étext"),
    ("text\x1b[3", "text"),
    ("text\x1b", "text"),
    ("a\0b\ac\x7fd", "abcd"),
    ("a \t\n \n\t\n\n  b\n\n\n", "a\n\n  b\n\n"),
)


def test_rewriting_ends_in_what_a_terminal_shows():
    for raw, shown in REWRITTEN:
        assert clean(raw.encode()) == shown.encode(), raw


def test_a_display_can_move_up_by_the_rows_that_are_held_back():
    lines = b"".join(b"%d\n" % number for number in range(200))
    assert clean(lines + b"\x1b[63Agot").split(b"\n")[137] == b"got"
    assert clean(lines + b"\x1b[500Agot").split(b"\n")[137] == b"got"


def test_lines_come_out_as_soon_as_no_display_can_reach_them():
    cleaner = Cleaner()
    assert cleaner.feed(b"line\n" * 100) == b"line\n" * 37
    assert cleaner.feed(b"line\n") == b"line\n"


def test_bytes_that_are_not_text_stay():
    assert clean(b"\xff\xfe \x85 \xe2\x82\n\x1b[1m\xff\x1b[m\n") == b"\xff\xfe \x85 \xe2\x82\n\xff\n"


@pytest.mark.parametrize("piece", [b"x", "é日".encode(), b" x"])
def test_a_line_without_end_passes_in_little_memory(piece):
    block = piece * (65536 // len(piece))
    cleaner = Cleaner()
    tracemalloc.start()
    try:
        size = sum(len(cleaner.feed(block)) for _ in range(180)) + len(cleaner.flush())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == 180 * len(block)
    assert peak < 150 * 65536
