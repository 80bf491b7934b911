"""Compiled code finds the same lines as the code in Python that is used without a compiler."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokcap.findings import survey as survey_module
from tokcap.findings.compiled import compiled_code
from tokcap.findings.survey import Survey, masks_of, similar_ranges
from tokcap.shapes.line_map import stretch_counts

CODE = compiled_code()
pytestmark = pytest.mark.skipif(CODE is None, reason="the package was built without a compiler")

LINES = st.lists(
    st.one_of(st.binary(max_size=20), st.sampled_from([b"", b"a1", b"b2", b"job 7f", b"job 0", b"x" * 90]))
)


def survey(data: bytes, chunk_bytes: int):
    reader = Survey(failed=True, interest="job 1.*7")
    for place in range(0, len(data), chunk_bytes):
        reader.feed(data[place : place + chunk_bytes])
    return reader.finish()


def test_every_byte_is_kept_or_dropped_at_every_place():
    # Many bytes are copied at once. Without digits, what is left of a line is the bytes around the other one.
    for byte in range(256):
        lines = [b"x" * place + bytes([byte]) + b"y" * (20 - place) for place in range(21)]
        block = b"\n".join(lines)
        masks = masks_of(block)
        count, _, first_of = CODE.masks_of(block, 0, len(block), 3, 0)
        assert count == len(masks)
        assert list(first_of.values()) == [masks.index(mask) for mask in dict.fromkeys(masks)]


@given(LINES, st.booleans(), st.integers(0, 9), st.sampled_from([b"", b"x\n", b"job 7\n" * 9]))
@example([b"x", b"12"], False, 0, b"")
def test_masks_of_a_part_are_the_same(lines, ends_with_line_end, number, around):
    block = b"\n".join(lines) + b"\n" * ends_with_line_end
    if not block:
        return
    masks = masks_of(block)
    start, stop = len(around), len(around) + len(block)
    count, ranges, first_of = CODE.masks_of(around + block + around, start, stop, 3, number)
    assert count == len(masks)
    assert ranges == similar_ranges(masks, number)
    assert list(first_of.values()) == [masks.index(mask) for mask in dict.fromkeys(masks)]


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 4), (4, 4)])
def test_there_are_no_lines_outside_of_the_text(start, stop):
    with pytest.raises(ValueError, match="no such part"):
        CODE.masks_of(b"abc", start, stop, 3, 0)


def test_many_different_lines_have_different_hashes():
    block = b"".join(b"%d\n" % n for n in range(9)) + b"".join(b"%s\n" % (b"x" * n) for n in range(700))
    letters = bytes.maketrans(b"0123456789", b"ghijklmnop")
    block += b"".join((b"%d %d\n" % (n, n)).translate(letters) for n in range(30_000))
    _, _, first_of = CODE.masks_of(block, 0, len(block), 3, 0)
    assert len(first_of) == len(set(masks_of(block)))


@given(
    st.lists(st.sampled_from([b"\n", b"\x0b", b"\x8a", b"x", b"\n" * 30, b"line\n" * 700])),
    st.integers(1, 5000),
)
def test_line_ends_are_the_same(parts, stretch_bytes):
    block = b"".join(parts)
    assert CODE.line_ends(block, stretch_bytes) == stretch_counts(block, stretch_bytes)


@pytest.mark.parametrize("chunk_bytes", [1, 333, 100_000])
def test_findings_are_the_same_for_every_chunking(chunk_bytes, monkeypatch):
    monkeypatch.setattr(survey_module, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(survey_module, "EXAMINED_BYTES", 4000)
    monkeypatch.setattr(survey_module, "END_BYTES", 2000)
    draw = random.Random(3)  # not a secret
    kinds = (b"job %x done", b"error: disk %d failed", b"# Part %d", b"", b"y" * 3000, b"plain")
    lines = [kind % draw.randrange(1000) if b"%" in kind else kind for kind in draw.choices(kinds, k=900)]
    lines += [b"%s is new" % (b"z" * n) for n in range(40)]
    data = b"\n".join(lines)
    monkeypatch.setattr(survey_module, "LARGE_BYTES", len(data) + 1)
    expected = survey(data, len(data))
    monkeypatch.setattr(survey_module, "LARGE_BYTES", 1)
    assert survey(data, chunk_bytes) == expected
