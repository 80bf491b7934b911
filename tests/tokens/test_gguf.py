"""The vocabulary in the metadata of a GGUF model counts like the tokenizer.json that it was made from."""

from __future__ import annotations

import random
import struct

import pytest

from tests.support.gguf_files import gguf_file, of_characters, of_tokenizer_json
from tests.support.plain_bpe import plain_lengths
from tests.support.tiers import times
from tests.support.toy_models import BLANK_BEFORE, BLANK_REPLACED, toy, toy_of_characters
from tokcap.environment import Environment
from tokcap.errors import TokenizerRefused
from tokcap.tokens import adding, open_tokenizer

TEXTS = (
    *("the other bathers", "\n\n the", "été 漢字  the", "--> 1234", "ж\0<0x0A>", " " * 37 + "the", "▁the"),
    "".join(
        random.Random(20).choices([" ", "the", "t", "h", "été", "--", ">", "\n", "12", "漢", "ж"], k=300)
    ),
)


@pytest.fixture
def add(with_store, tmp_path):
    env = Environment({"TOKCAP_DATA_DIR": str(with_store)})

    def compile_file(content: bytes, name: str = "model"):
        (tmp_path / "model.gguf").write_bytes(content)
        adding.add(name, str(tmp_path / "model.gguf"), env)
        return open_tokenizer(name, env)

    return compile_file


def test_a_model_that_merges_bytes_counts_like_its_tokenizer_json(add):
    model = toy((("t", "h"), ("th", "e"), (" ", "the"), (" ", " ")))
    tokenizer = add(gguf_file(of_tokenizer_json(model, "qwen2")))
    for text in TEXTS:
        assert list(tokenizer.token_lengths(text)) == plain_lengths(model, text)


@pytest.mark.parametrize("prefix", [False, True])
def test_a_model_with_scores_counts_like_its_tokenizer_json(add, prefix):
    model = toy_of_characters(normalizers=(*([BLANK_BEFORE] if prefix else []), BLANK_REPLACED))
    tokenizer = add(gguf_file(of_characters(model, prefix=prefix)))
    for text in TEXTS:
        assert tokenizer.count(text) == len(plain_lengths(model, text))


def test_runs_of_blanks_with_equal_scores_grow_from_the_left(add):
    values = of_characters(toy_of_characters((("t", "h"),), characters="▁"), prefix=False)
    for size in range(2, 9):
        for key, value in (("tokens", "▁" * size), ("scores", -1e9), ("token_type", 1)):
            values[f"tokenizer.ggml.{key}"].append(value)
    tokenizer = add(gguf_file(values))
    for size in range(1, 40):
        assert tokenizer.count(" " * size) == -(-size // 8)
        assert list(tokenizer.token_lengths(" " * size + "th"))[:1] == [min(size, 8)]


def test_only_the_metadata_is_read_and_makes_the_digest(inside, add, with_store, tmp_path):
    values = of_tokenizer_json(toy(), "llama-bpe")
    add(gguf_file(values), "one")
    with (tmp_path / "model.gguf").open("ab") as file:
        # Most of a model are its tensors.
        file.truncate(1 << 38)
    assert inside("tokenizer", "add", "two", str(tmp_path / "model.gguf")).status == 0
    add(gguf_file({**values, "general.name": "another"}), "three")
    listed = inside("tokenizer", "list", "-o", "json").json["data"]
    assert len({one["source_sha256"] for one in listed if one["name"] in ("one", "two", "three")}) == 1
    ran = inside("tokenizer", "check", "one", stdin=b"the")
    assert (ran.status, b"not a tokenizer.json" in ran.err) == (1, True)


def damaged() -> dict[str, tuple[bytes, str]]:
    good = gguf_file(of_tokenizer_json(toy(), "qwen2"))
    values = of_tokenizer_json(toy(), "qwen2")
    characters = of_characters(toy_of_characters(), prefix=False)
    tied = {**characters, "tokenizer.ggml.scores": [0.0] * len(characters["tokenizer.ggml.scores"])}
    blanks = {
        key: [*value, {"tokens": "  ", "scores": 0.0, "token_type": 4}[key[15:]]]
        if isinstance(value, list)
        else value
        for key, value in characters.items()
    }
    header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    key = struct.pack("<Q", 21) + b"tokenizer.ggml.tokens"
    other_key = struct.pack("<Q", 1) + b"k"
    two_texts = other_key + struct.pack("<IIQ", 9, 8, 2) + bytes(2 * 8)
    four_million = other_key + struct.pack("<IIQ", 9, 8, 1 << 21)
    return {
        "cut off": (good[: len(good) // 2], "it ends inside its metadata"),
        "only a header": (good[:24], "it ends inside its metadata"),
        "another version": (b"GGUF" + struct.pack("<I", 9) + good[8:], "version 9"),
        "very many keys": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40), "no model has more than"),
        "a billion texts": (header + key + struct.pack("<IIQ", 9, 8, 10**9), "an array of 1000000000 texts"),
        "a billion numbers": (
            header + key + struct.pack("<IIQ", 9, 5, 10**9),
            "an array of 1000000000 numbers",
        ),
        "very many arrays of texts": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 9) + two_texts + four_million,
            "it has more than 2097152 texts",
        ),
        "an endless key": (header + struct.pack("<Q", 1 << 60), "a text of"),
        "an array of arrays": (header + key + struct.pack("<IIQ", 9, 9, 2), "an array of the type 9"),
        "an unknown type": (header + key + struct.pack("<I", 77), "the unknown type 77"),
        "no tokens": (gguf_file({"tokenizer.ggml.model": "llama"}), "it has no tokenizer.ggml.tokens"),
        "another model": (gguf_file({"tokenizer.ggml.model": "bert"}), "its tokenizer is 'bert'"),
        "no model": (gguf_file({}), "its tokenizer is ''"),
        "another pre-split": (
            gguf_file({**values, "tokenizer.ggml.pre": "falcon"}),
            "its pre-tokenizer is 'falcon'",
        ),
        "too few types": (gguf_file({**values, "tokenizer.ggml.token_type": [1]}), "not one for each token"),
        "equal scores": (gguf_file(tied), "have the same score"),
        "blanks of the user": (gguf_file(blanks), "its runs of blanks are tokens defined by the user"),
    }


def test_a_damaged_or_hostile_model_is_refused_in_one_line(inside, with_store, tmp_path):
    for case, (content, reason) in damaged().items():
        (tmp_path / "model.gguf").write_bytes(content)
        ran = inside("tokenizer", "add", "one", str(tmp_path / "model.gguf"))
        assert (ran.status, ran.err.count(b"\n")) == (1, 1), case
        assert reason in ran.err.decode(), case


def test_any_cut_of_a_model_is_refused(add):
    good = gguf_file(of_characters(toy_of_characters(), prefix=True))
    for size in random.Random(20).sample(range(len(good)), 20 * times()):
        with pytest.raises(TokenizerRefused):
            add(good[:size])
