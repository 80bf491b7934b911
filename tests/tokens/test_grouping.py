"""The faster pattern for tiktoken splits every text like the published one."""

import sysconfig
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import ANYTHING, SURROUNDINGS, code_points
from tests.support.tiers import examples, times
from tokcap.tokens.pre_split import PRE_SPLIT, faster_for_tiktoken


def fast(name: str):
    """The encoding that tokcap uses."""
    encoding = TOKENIZERS[name].byte_pair._encoding
    assert encoding._pat_str == faster_for_tiktoken(PRE_SPLIT[name]) != reference(name)._pat_str
    return encoding


BLANKS = st.text(alphabet=" \t\r\n\x0b\x0c\x85\u00a0\u2028\u3000", max_size=6)


@pytest.mark.parametrize("name", ENCODINGS)
@examples(30)
@given(text=ANYTHING, blanks=BLANKS)
@example(text="end", blanks="\n  ")
@example(text="", blanks="\r\n \n\t")
def test_any_text_with_any_blanks_around_it_has_the_tokens_of_the_published_pattern(name, text, blanks):
    for whole in (text + blanks, blanks + text, text + blanks + text):
        assert fast(name).encode_ordinary(whole) == reference(name).encode_ordinary(whole)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_code_point_has_the_tokens_of_the_published_pattern(name):
    characters = [*map(chr, code_points())]
    for start in range(0, len(characters), 256):
        text = "".join(map(SURROUNDINGS[0].format, characters[start : start + 256]))
        assert fast(name).encode_ordinary(text) == reference(name).encode_ordinary(text), hex(start)


@pytest.mark.parametrize("name", ENCODINGS)
def test_sources_have_the_tokens_of_the_published_pattern(name):
    sources = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    # Each encoding gets others of them.
    for source in sources[ENCODINGS.index(name) :: 4 if times() > 1 else 40]:
        text = source.read_bytes().decode("utf-8", "replace").replace("\n", "\r\n")
        assert fast(name).encode_ordinary(text) == reference(name).encode_ordinary(text), source


@pytest.mark.parametrize("name", ENCODINGS)
def test_nothing_but_one_alternative_looks_ahead_and_nothing_is_possessive(name):
    before, _, after = faster_for_tiktoken(PRE_SPLIT[name]).partition(r")|\s+(?!\S)")
    assert "(?!" not in before + after
    assert not any(sign in before for sign in ("++", "*+", "?+", "3}+"))
