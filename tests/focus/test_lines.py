"""Where lines begin is the same, whether a survey has counted them or nobody has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import payload_of
from tokcap.focus import lines as lines_module
from tokcap.focus import survey as survey_module
from tokcap.focus.lines import LineMap
from tokcap.focus.survey import survey

LINE = st.sampled_from([b"", b"x", b"short line", b"x" * 80, b"y" * 700, b"z" * 3000])


@given(st.lists(LINE, max_size=60), st.booleans(), st.integers(1, 900))
def test_lines_begin_where_the_one_before_ends(lines, ends_with_line_end, chunk_bytes):
    data = b"\n".join(lines) + b"\n" * ends_with_line_end
    chunks = [data[place : place + chunk_bytes] for place in range(0, len(data), chunk_bytes)]
    expected = [0]
    for line in data.splitlines(keepends=True):
        expected.append(expected[-1] + len(line))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(survey_module, "BLOCK_BYTES", 500)
        patch.setattr(survey_module, "EXAMINED_BLOCKS", 3)
        patch.setattr(lines_module, "BLOCK_BYTES", 300)
        found, payload = survey(chunks, failed=True), payload_of(data)
        surveyed = LineMap(payload, 0, found.total_lines, found.begins or None)
        for lines_of in (LineMap(payload, 0), surveyed):
            assert lines_of.count == len(expected) - 1
            assert [lines_of.byte_of(n) for n in reversed(range(len(expected)))] == expected[::-1]
            assert lines_of.starts() == expected
