"""What a text leaves switched on in a terminal, and the sequences that undo it."""

from hypothesis import given
from hypothesis import strategies as st

from tokcap.filters.terminal_modes import resets_after

OPEN = [
    (b"\x1b[31mred", b"\x1b[0m"),
    (b"\x1b[1;4;38;5;208mx", b"\x1b[0m"),
    (b"\x1b[38;2;1;2;0mx", b"\x1b[0m"),
    (b"\x1b[48:2::1:2:3mx", b"\x1b[0m"),
    (b"\x1b[4:3mx", b"\x1b[0m"),
    (b"\x1b[?1049hx", b"\x1b[?1049l"),
    (b"\x1b[?47hx", b"\x1b[?47l"),
    (b"\x1b[?1047hx", b"\x1b[?1047l"),
    (b"\x1b[?25lx", b"\x1b[?25h"),
    (b"\x1b[?7lx", b"\x1b[?7h"),
    (b"\x1b[?1000h\x1b[?1002;1006hx", b"\x1b[?1000;1002;1006l"),
    (b"\x1b[?1003h\x1b[?1015hx", b"\x1b[?1003;1015l"),
    (b"\x1b[?2004hx", b"\x1b[?2004l"),
    (b"\x1b[?1004hx", b"\x1b[?1004l"),
    (b"\x1b[?1hx", b"\x1b[?1l"),
    (b"\x1b[?6hx", b"\x1b[?6l"),
    (b"\x1b=x", b"\x1b>"),
    (b"\x1b(0lqqk", b"\x1b(B"),
    (b"\x1b]8;;http://h\x1b\\link", b"\x1b]8;;\x1b\\"),
    (b"\x1b]8;id=1;http://h\x07link", b"\x1b]8;;\x1b\\"),
    (b"\x1b[2;10rx", b"\x1b7\x1b[r\x1b8"),
    (b"\x1b[?1049h\x1b[2;10rx", b"\x1b[r\x1b[?1049l"),
    (b"\x1b[>1ux", b"\x1b[<1u"),
    (b"\x1b[>1u\x1b[>3u\x1b[<ux", b"\x1b[<1u"),
    (b"\x1b[=5ux", b"\x1b[<1u"),
    (b"\x1b[31", b"\x18"),
    (b"\x1b]0;a title", b"\x18"),
    (b"\x1bPq#0", b"\x18"),
    (b"\x1b", b"\x18"),
]
CLOSED = [
    b"plain",
    b"\x1b[31mred\x1b[0m",
    b"\x1b[31mred\x1b[m",
    b"\x1b[0;38;5;1mx\x1b[0m",
    b"\x1b[?1049h\x1b[?25l\x1b[?1000h x\x1b[?1000l\x1b[?25h\x1b[?1049l",
    b"\x1b[?25h",
    b"\x1b(0q\x1b(B",
    b"\x1b]8;;http://h\x07link\x1b]8;;\x07",
    b"\x1b]0;title\x07x",
    b"\x1b[2;10rx\x1b[r",
    b"\x1b[>1ux\x1b[<u",
    b"\x1b=x\x1b>",
    b"\x1b[31m\x1b[?25l\x1b[?1049hx\x1bc",
    b"\x1b[2J\x1b[H\x1b[5;10Hx\x1b[K",
    b"\x1b[6n\x1b[c\x1b]11;?\x07",
    b"\x1b[?1034h",
]


def test_what_is_left_open_is_undone_by_what_is_needed_and_nothing_else():
    for text, reset in OPEN:
        assert b"".join(resets_after(text)) == reset
        assert resets_after(text + reset) == []


def test_what_is_closed_needs_no_reset():
    for text in CLOSED:
        assert resets_after(text) == [], text


def test_everything_that_a_full_screen_program_opens_is_undone_in_order():
    opened = b"\x1b[?1049h\x1b[22;0;0t\x1b[1;24r\x1b(B\x1b[m\x1b[4l\x1b[?7h"
    opened += b"\x1b[?1h\x1b=\x1b[?25l\x1b[?1000;1006h\x1b[31mx"
    assert b"".join(resets_after(opened)) == (b"\x1b[0m\x1b[r\x1b[?1049l\x1b[?25h\x1b[?1;1000;1006l\x1b>")


PIECES = st.sampled_from([text for text, _ in OPEN] + CLOSED) | st.binary(max_size=4)


@given(text=st.lists(PIECES, max_size=8).map(b"".join))
def test_the_resets_leave_nothing_open_whatever_was_written(text):
    resets = b"".join(resets_after(text))
    assert resets_after(text + resets) == []
    assert resets == b"" or resets.isascii()
