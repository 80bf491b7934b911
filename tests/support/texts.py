"""Texts that are hard to split into tokens, as strategies and as tables."""

import functools
import unicodedata

from hypothesis import strategies as st

from tests.support.tiers import times

# Everything that pre-splits distinguish: contractions, cases, digits, blanks, newlines, slashes, marks.
WORDS = (
    *("'s", "'S", "'ll", "’s", "'ſ", "\n", "\n\n", "\r\n", " ", "  ", "\t", "\u00a0", "\u3000", "\u2028"),
    *("/", "//", "\n/", "(", "))", "...", "1", "22", "4444", "²", "ab", "AB", "aB", "É", "é", "e\u0301", "ǅ"),
    *("漢字", "かな", "ไทย", "عربي", "👩‍👩‍👧", "\u200d", "\ufffd", "\0", "\x1b[0m", "<|endoftext|>"),
)
AWKWARD = st.lists(st.one_of(st.text(max_size=8), st.sampled_from(WORDS)), max_size=40).map("".join)
# Long pieces of every kind, each longer than the texts that tiktoken gets.
LONG_RUNS = {
    "letters": "a" * 300_000,
    "capitals": "A" * 300_000 + "b",
    "signs": "=" * 300_000,
    "nul bytes": "\0" * 300_000,
    "digits": "1" * 300_001,
    "ideographs": "漢字仮名" * 60_000,
    "emoji": "👩‍👩‍👧‍👦" * 15_000,
    "thai": "สวัสดี" * 30_000,
    "marks": "e\u0301" * 100_000,
    "contractions": "ab'cd" * 50_000,
    "blanks": " " * 300_000,
    "blanks and a letter": " " * 300_000 + "x",
    "blanks and newlines": "\n " * 150_000 + "x",
    "newlines at last": " " * 200_000 + "\n" * 3,
    "tabs": "\t " * 150_000 + "y",
    "dots and blanks": ". " * 120_000,
}
ANYTHING = st.lists(
    st.one_of(
        AWKWARD,
        st.text(max_size=20),
        # Every plane, assigned or not.
        st.lists(st.integers(0, 0x10FFFF).map(chr).filter(lambda c: not "\ud800" <= c <= "\udfff")).map(
            "".join
        ),
        st.sampled_from(
            ["'ſ", "'LL", "'rE", "İ", "K", "ß", "ﬁ", "\u200b", "\x1c", "\x85", "Ⅷ", "①", "〇", "ʰ", "\u0378"]
        ),
    ),
    max_size=12,
).map("".join)


def is_one_of_many(point: int) -> bool:
    """Return whether it is among ideographs, syllables and private use planes, which are all alike."""
    return 0x3400 <= point < 0xA000 or 0xAC00 <= point < 0xD7A4 or point >= 0x20000


@functools.cache
def code_points() -> list[int]:
    """Return all code points but surrogates. Of those that are alike: every 61st, and where a block ends.

    The everyday tests get every 61st of the first two planes, fewer of the others, and where the category
    changes among the scripts in the beginning.
    """
    if times() == 1:
        first = [unicodedata.category(chr(point)) for point in range(0x3400)]
        changes = {point for point in range(1, 0x3400) if first[point] != first[point - 1]}
        return [
            point
            for point in range(0x110000)
            if (point % (61 if point < 0x20000 else 997) == 0 or point in changes)
            and not 0xD800 <= point < 0xE000
        ]
    categories = [unicodedata.category(chr(point)) for point in range(0x110000)]
    return [
        point
        for point in range(0x110000)
        if categories[point] != "Cs"
        and (
            not is_one_of_many(point)
            or point % 61 == 0
            or categories[point - 1 : point + 2] != [categories[point]] * 3
        )
    ]


# Each line puts a character next to letters of both cases, digits, blanks, newlines, signs, marks and itself.
SURROUNDINGS = (
    "a{0}b A{0}B{0}c\n{0}\n{0}1{0}2 {0} {0}{0}\t{0}/\n/{0}'s'{0}'{0}e'l{0}  {0}  \n{0}",
    "é{0}É{0}ǅ{0}ʰ{0}漢{0}\u0301{0}x{0}\u3000{0}\u3000\u3000{0}٣{0}_{0}\r{0}\r\n{0}\u2028{0}",
)
