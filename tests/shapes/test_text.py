"""Windows over text: the three promises as laws, and the rules of §3 and §4 as examples."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, recount, reference
from tests.support.samples import Sample
from tests.support.texts import AWKWARD
from tests.support.tiers import examples
from tokcap.core.cut import Ask, Kept, Mark
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes.text import cut
from tokcap.store.handles import HANDLE_DIGITS, at_offset, spelled
from tokcap.tokens import count_bytes

LINES = st.lists(
    st.one_of(AWKWARD.map(str.encode), st.binary(max_size=12), st.sampled_from([b"", b"word " * 30])),
    max_size=20,
).map(b"\n".join)


def text_of(data: bytes, name: str = "cl100k_base") -> Sample:
    return Sample(data, "text", name)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("output", ["text", "json", "jsonl"])
@examples(30)
@given(
    data=LINES,
    limit=st.integers(1, 120),
    offset=st.integers(0, 60),
    keep=st.sampled_from(list(KEEPS)),
    align=st.sampled_from(["record", "token"]),
    sentinel=st.sampled_from(["[TRUNCATED]", "", "✂", "… more …"]),
)
def test_what_is_written_recounts_to_at_most_the_limit(
    name, output, data, limit, offset, keep, align, sentinel
):
    text = text_of(data, name)
    written = text.shown(limit, output, offset=offset, keep=keep, align=align, sentinel=sentinel)
    assert recount(written, name) <= limit


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("align", ["record", "token"])
@examples(30)
@given(data=LINES, limit=st.integers(12, 90))
def test_pages_join_to_the_original_bytes(name, align, data, limit):
    pages = text_of(data, name).pages(limit, align=align, sentinel="")
    assert b"".join(part.data for page in pages for part in page.parts) == data


@examples(25)
@given(data=LINES, limit=st.integers(60, 120))
def test_pages_with_marks_join_as_well_once_the_marks_are_taken_out(data, limit):
    pages = list(text_of(data).pages(limit))
    assert b"".join(part.data for page in pages for part in page.parts if isinstance(part, Kept)) == data
    for page in pages[:-1]:
        assert isinstance(page.parts[-1], Mark)
    assert not any(isinstance(part, Mark) for part in pages[-1].parts)


@examples(25)
@given(text=AWKWARD, limit=st.integers(14, 60))
def test_json_pages_join_to_the_original_text(text, limit):
    pages = text_of(text.encode()).pages(limit, sentinel="", output="json")
    assert "".join("".join(json.loads(FORMS["json"].compose(page.parts))) for page in pages) == text


@examples(30)
@given(text=AWKWARD, limit=st.integers(1, 60), keep=st.sampled_from(list(KEEPS)))
def test_no_cut_lies_inside_a_character(text, limit, keep):
    for part in text_of(text.encode()).window(limit, keep=keep, align="token").parts:
        if isinstance(part, Kept):
            part.data.decode()


@pytest.mark.parametrize("keep", KEEPS)
@examples(20)
@given(lines=st.lists(st.integers(0, 10**6), min_size=1, max_size=120), limit=st.integers(60, 200))
def test_lines_that_fit_are_never_split(keep, lines, limit):
    data = b"".join(b"%d\n" % number for number in lines)
    for part in text_of(data).window(limit, keep=keep).parts:
        if isinstance(part, Kept):
            assert part.data.endswith(b"\n")
            start = data.find(part.data) if data.startswith(part.data) else data.rfind(part.data)
            assert start == 0 or data[start - 1 : start] == b"\n"


@examples(25)
@given(data=LINES, room=st.integers(0, 9), keep=st.sampled_from(list(KEEPS)))
def test_output_that_fits_is_passed_on_byte_for_byte(data, room, keep):
    text = text_of(data)
    assert text.shown(max(text.index.total_tokens, 1) + room, keep=keep) == data


@examples(25)
@given(lines=LINES, keep=st.sampled_from(list(KEEPS)), limit=st.integers(60, 100))
def test_the_gap_is_exactly_what_is_not_shown(lines, keep, limit):
    data = lines + b"\nand so on" * 100
    text = text_of(data)
    page = text.window(limit, keep=keep)
    starts = text.index.starts(0, text.index.total_tokens)
    gaps = iter(page.gaps)
    joined, hidden = b"", b""
    for part in page.parts:
        if isinstance(part, Kept):
            joined += part.data
        elif (gap := next(gaps, None)) is not None:
            hidden = data[starts[gap.first] : starts[-1 if gap.end is None else gap.end]]
            assert hidden
            joined += hidden
    assert joined == data
    assert keep != "head" or data.endswith(hidden)
    assert keep != "tail" or data.startswith(hidden)


@pytest.mark.parametrize("name", ENCODINGS)
def test_windows_without_mark_tile_arithmetically(name):
    data = b"".join(b"%d bottles of beer on the wall, 'tis said.\n" % n for n in range(400))
    text = text_of(data, name)
    total = len(reference(name).encode_ordinary(data.decode()))
    windows = []
    for offset in range(0, total, 200):
        page = text.window(200, offset=offset, align="token", sentinel="")
        assert page.first_token == offset
        assert (page.gap.first if page.gap else total) == min(offset + 200, total)
        windows.append(FORMS["text"].compose(page.parts))
    assert b"".join(windows) == data


def test_the_mark_says_what_is_shown_and_how_to_go_on():
    text = text_of(b"".join(b"%d\n" % n for n in range(1, 1001)))
    page = text.window(40)
    end = page.gap.first
    assert text.shown(40).splitlines()[-1] == b"[TRUNCATED] %d/2001 tokens; next: --token-offset %d" % (
        end,
        end,
    )
    second = text.shown(40, offset=end)
    assert second.startswith(b"%d\n" % (end // 2 + 1))
    shown = text.window(40, offset=end).gap.first - end
    assert second.splitlines()[-1].startswith(b"[TRUNCATED] %d/2001 tokens; " % shown)


def test_a_small_limit_drops_the_long_form_first_and_then_the_mark():
    text = text_of(b"".join(b"%d\n" % n for n in range(1, 1001)))
    assert b"; next: --token-offset" in text.shown(30)
    assert text.shown(10) == b"1\n2\n[TRUNCATED]\n"
    assert text.shown(5) == b"1\n2\n"
    assert text.shown(1) == b"1"


def test_a_line_longer_than_any_window_is_split_and_the_mark_has_a_line_of_its_own():
    shown = text_of(b"word " * 1000).shown(60)
    body, mark, nothing = shown.split(b"\n")
    assert body == b"word" + b" word" * (body.count(b"word") - 1)
    assert mark.startswith(b"[TRUNCATED] %d/1001 tokens; " % body.count(b"word"))
    assert nothing == b""


def test_keeping_the_tail_puts_the_mark_first():
    shown = text_of(b"".join(b"%d\n" % n for n in range(1, 1001))).shown(60, keep="tail")
    first, *lines = shown.splitlines()
    tokens = recount(b"\n".join(lines) + b"\n")
    assert first == b"[TRUNCATED] %d/2001 tokens; next: --token-offset 0" % tokens
    assert lines[-1] == b"1000"
    assert lines == [b"%d" % n for n in range(1001 - len(lines), 1001)]


def test_keeping_both_ends_puts_the_mark_at_the_gap():
    text = text_of(b"".join(b"%d\n" % n for n in range(1, 1001)))
    lines = text.shown(100, keep="ends").splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith(b"[TRUNCATED]"))
    gap = text.window(100, keep="ends").gap
    shown = 2001 - (gap.end - gap.first)
    assert lines[place] == b"[TRUNCATED] %d/2001 tokens; next: --token-offset %d" % (shown, gap.first)
    assert lines[:place] == [b"%d" % n for n in range(1, place + 1)]
    assert lines[place + 1 :] == [b"%d" % n for n in range(1001 - len(lines) + place + 1, 1001)]
    assert abs(2 * place - len(lines)) < 12


def test_an_offset_at_or_past_the_end_gives_an_empty_window():
    text = text_of(b"one\ntwo\n")
    for offset in (text.index.total_tokens, 10**18):
        page = text.window(5, offset=offset)
        assert page.parts == ()
        assert page.gap is None


def test_a_run_of_newlines_that_is_one_token_is_not_cut():
    text = text_of(b"a\n\n\n\n\n\n\nb\n" * 40)
    assert recount(b"\n\n\n\n\n\n\n") == 1
    for limit in range(2, 40):
        (kept,) = text.window(limit, sentinel="").parts
        assert kept.data.endswith((b"a\n\n\n\n\n\n\n", b"b\n"))


@pytest.mark.parametrize("keep", ["tail", "ends"])
def test_a_mark_before_a_tail_has_the_exact_total(inside, keep):
    text = "".join(f"{number}\n" for number in range(20_000)).encode()
    ran = inside("-n", "60", "--keep", keep, stdin=text)
    assert f"/{recount(text)} tokens; ".encode() in ran.out


# Every option that a command may need, the longest names included.
OPTIONS = st.lists(
    st.sampled_from(
        [
            " --stream err",
            " --tokenizer o200k_base",
            " --shape text",
            " --fields 'customer.address.street,total'",
            " --mode handle_only",
            " --pointer /items/1234/body",
            " --grep '^ERROR: {}'",
        ]
    ),
    max_size=4,
    unique=True,
).map("".join)


@pytest.mark.parametrize("keep", list(KEEPS))
@pytest.mark.parametrize("name", ENCODINGS)
@examples(12)
@given(
    data=st.one_of(LINES, st.integers(1, 400).map(lambda words: (b"word " * words + b"\n") * 3)),
    room=st.integers(40, 240),
    digest=st.integers(0, 2**160 - 1),
    options=OPTIONS,
    sentinel=st.sampled_from(["[TRUNCATED]", "✂", "-- the end of this page, and more follows --"]),
    label=st.sampled_from(["", "stderr "]),
)
def test_from_forty_tokens_up_a_mark_names_its_command(
    keep, name, data, room, digest, options, sentinel, label
):
    counted = TOKENIZERS[name].count
    usual = counted("[TRUNCATED] tokcap show")
    # A longer sentinel and options in the command need as many tokens more.
    limit = room + max(counted(f"{sentinel} tokcap show{options}") - usual, 0)
    text = text_of(data, name)
    command = f"tokcap show {at_offset(spelled(f'{digest:040x}', HANDLE_DIGITS), '{}')}{options}"
    ask = Ask(limit, 0, KEEPS[keep], "record", sentinel, command, label=label)

    def cost(parts):
        return count_bytes(FORMS["text"].compose(parts), TOKENIZERS[name])

    window = cut(text.payload, text.index, ask, cost)
    shown = FORMS["text"].compose(window.parts)
    assert count_bytes(shown, TOKENIZERS[name]) <= limit
    if window.gap:
        assert f" {command.replace('{}', str(window.gap.first), 1)}\n".encode() in shown
        assert not window.empty
