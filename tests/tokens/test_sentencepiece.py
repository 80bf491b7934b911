"""Vocabularies of characters, as SentencePiece trains them, have the tokens that their files define."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plain_bpe import plain_lengths
from tests.support.published import lengths_by, reference_from
from tests.support.tiers import examples, nightly
from tests.support.toy_models import BLANK_BEFORE, BLANK_REPLACED, MERGES, METASPACE, toy_of_characters
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused
from tokcap.tokens import adding, open_tokenizer


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile a model, once each."""
    known = {}

    def compile_once(model: dict):
        content = json.dumps(model)
        if content not in known:
            directory = tmp_path_factory.mktemp("one")
            (directory / "tokenizer.json").write_text(content)
            env = Environment({"TOKCAP_DATA_DIR": str(directory / "data")})
            adding.add("one", str(directory / "tokenizer.json"), env)
            known[content] = open_tokenizer("one", env)
        return known[content]

    return compile_once


PREFIXES = {
    "none": toy_of_characters(),
    "always": toy_of_characters(normalizers=(BLANK_BEFORE, BLANK_REPLACED)),
    "unless blank": toy_of_characters(normalizers=(), pre_tokenizer=METASPACE),
}
PARTS = (
    " ",
    "  ",
    "▁",
    "the",
    "été",
    "漢字",
    "漢",
    "-->",
    "\n",
    "\n\n",
    "1",
    "x",
    "ж",
    "\0",
    "<0x0A>",
    "</s>",
)


ANY_PARTS = st.lists(st.one_of(st.sampled_from(PARTS), st.text(max_size=3)), max_size=10)


@nightly
@pytest.mark.parametrize("prefix", PREFIXES)
@examples(30)
@given(text=ANY_PARTS.map("".join))
def test_the_reference_of_these_tests_has_the_tokens_of_the_package(prefix, text):
    reference = reference_from(PREFIXES[prefix])
    assert plain_lengths(PREFIXES[prefix], text) == lengths_by(reference, text)


@pytest.mark.parametrize("prefix", PREFIXES)
@examples(40)
@given(text=ANY_PARTS.map("".join))
def test_any_text_has_the_tokens_that_the_file_defines(compiled, prefix, text):
    tokenizer = compiled(PREFIXES[prefix])
    expected = plain_lengths(PREFIXES[prefix], text)
    lengths = list(tokenizer.token_lengths(text))
    assert (len(lengths), tokenizer.count(text)) == (len(expected), len(expected))
    assert sum(lengths) == len(text.encode())
    plain = text.replace("▁", " ")
    if plain == text and expected:
        expected[0] -= sum(expected) - len(text.encode())
        assert lengths == expected


def test_a_text_of_one_character_may_have_two_tokens(compiled, inside, monkeypatch):
    tokenizer = compiled(PREFIXES["always"])
    assert list(tokenizer.token_lengths("1")) == [0, 1]
    place = tokenizer.continued._directory.rpartition("/tokenizers/")[0]
    monkeypatch.setenv("TOKCAP_DATA_DIR", place)
    assert inside("--tokenizer", "one", "--token-count", stdin=b"1").out == b"2\n"
    assert inside("--tokenizer", "one", "-n", "1", stdin=b"1").out == b""


def test_a_token_that_joins_what_is_divided_is_refused(compiled):
    for pair in (("1", "1"), ("a", ","), ("a", "▁"), ("\n", "a"), (",", "\n")):
        with pytest.raises(TokenizerRefused, match="joins what other vocabularies divide"):
            compiled(toy_of_characters((*MERGES, pair)))


def test_other_normalizers_and_splits_are_refused(compiled):
    for model, reason in (
        (toy_of_characters(normalizers=(BLANK_REPLACED, {"type": "NFC"})), "Replace, NFC"),
        (toy_of_characters(normalizers=()), "not at all"),
        (
            toy_of_characters(normalizers=(), pre_tokenizer={**METASPACE, "split": True}),
            "splits texts at every blank",
        ),
    ):
        with pytest.raises(TokenizerRefused, match=reason):
            compiled(model)
