"""The pre-splits of the embedded encodings, over the classes of `tokens.classes` instead of characters.

They are OpenAI's patterns, class for class. `\\p{L}` and the like become the ASCII characters of that kind
and the bytes that stand for all others, so that the standard engine for bytes can run them.
"""

from __future__ import annotations

# UPPER 80, LOWER 81, CASELESS 82, MARK 83, NUMBER 84, BLANK 85, REST 86, LONG_S 87
_LETTER = r"A-Za-z\x80-\x82\x87"
_NUMBER = r"0-9\x84"
_BLANK = r"\t-\r \x85"

_CL100K = (
    r"'(?:[SDMTsdmt\x87]|[Ll][Ll]|[Vv][Ee]|[Rr][Ee])"
    rf"|[^\r\n{_LETTER}{_NUMBER}]?+[{_LETTER}]++"
    rf"|[{_NUMBER}]{{1,3}}+"
    rf"| ?[^{_BLANK}{_LETTER}{_NUMBER}]++[\r\n]*+"
    rf"|[{_BLANK}]++\Z"
    rf"|[{_BLANK}]*[\r\n]"
    rf"|[{_BLANK}]+(?![^{_BLANK}])"
    rf"|[{_BLANK}]"
)

# Letters without case and marks are in both classes of letters, and a mark may also stand before a word.
_UPPER = r"A-Z\x80\x82\x83"
_LOWER = r"a-z\x81-\x83\x87"
_CONTRACTION = r"(?:'(?:[SsTtMmDd\x87]|[Rr][Ee]|[Vv][Ee]|[Ll][Ll]))?"

_O200K = (
    rf"[^\r\n{_LETTER}{_NUMBER}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}"
    rf"|[^\r\n{_LETTER}{_NUMBER}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}"
    rf"|[{_NUMBER}]{{1,3}}"
    rf"| ?[^{_BLANK}{_LETTER}{_NUMBER}]+[\r\n/]*"
    rf"|[{_BLANK}]*[\r\n]+"
    rf"|[{_BLANK}]+(?![^{_BLANK}])"
    rf"|[{_BLANK}]+"
)

PRE_SPLIT = {"cl100k_base": _CL100K.encode(), "o200k_base": _O200K.encode()}
