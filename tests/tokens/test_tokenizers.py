"""Which names are tokenizers, and what happens when one is not available."""

import os
import sys

import pytest

from tests.support.reference import recount
from tokcap.tokens import bpe, open_tokenizer


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("cl100k_base", "cl100k_base"),
        ("o200k_base", "o200k_base"),
        ("o200k_harmony", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("text-embedding-3-small", "cl100k_base"),
    ],
)
def test_an_encoding_or_model_name_finds_its_embedded_table(name, encoding):
    assert open_tokenizer(name).name == encoding


def test_an_encoding_that_tiktoken_cannot_load_is_refused_before_the_command_runs(tokcap, tmp_path):
    proof = tmp_path / "ran"
    # Nothing listens at this proxy, so that tiktoken's download fails at once.
    world = {
        "https_proxy": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "TIKTOKEN_CACHE_DIR": "",
    }
    ran = tokcap("--tokenizer", "p50k_base", "-n", "155", "-o", "json", "--", "touch", str(proof), env=world)
    assert ran.status == 125
    assert ran.json["error"]["code"] == "TOKENIZER_UNAVAILABLE"
    assert ran.err.count(b"\n") == 1
    assert b"--tokenizer: tiktoken cannot load 'p50k_base'" in ran.err
    assert not proof.exists()


@pytest.fixture
def plugin(tmp_path):
    """Registers a tokenizer as an installed distribution would: returns the variables that add it."""

    def register(body: str) -> dict[str, str]:
        site = tmp_path / "site"
        (site / "wordy-1.0.dist-info").mkdir(parents=True)
        (site / "wordy-1.0.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: wordy\nVersion: 1.0\n"
        )
        (site / "wordy-1.0.dist-info" / "entry_points.txt").write_text(
            "[tokcap.tokenizers]\nwords = wordy:Words\n"
        )
        (site / "wordy.py").write_text(body)
        return {"PYTHONPATH": os.pathsep.join([str(site), *sys.path[:1]])}

    return register


WORDS = """
import re
class Words:
    def token_lengths(self, text):
        return [len(word.encode()) for word in re.findall(r"\\S+\\s*|\\s+", text)]
"""


def test_a_plug_in_needs_one_method_and_cuts_like_any_tokenizer(tokcap, plugin):
    world = plugin(WORDS)
    assert tokcap("--tokenizer", "words", "--token-count", stdin=b"one two three", env=world).out == b"3\n"
    ran = tokcap("--tokenizer", "words", "-n", "2", "--sentinel", "", stdin=b"one two three", env=world)
    assert ran.out == b"one two "


@pytest.mark.provokes("TOKENIZER_FAILED")
def test_a_plug_in_says_how_long_its_tokens_are_at_the_most(tokcap, plugin):
    world = plugin(WORDS + "    longest_token_bytes = 4\n")
    assert (
        tokcap("--tokenizer", "words", "-n", "2", "--sentinel", "", stdin=b"one two six", env=world).out
        == b"one two "
    )
    ran = tokcap("--tokenizer", "words", "-n", "900", "-o", "json", stdin=b"three words here", env=world)
    message = ran.json["warnings"][0]["message"]
    assert "has a token above its longest_token_bytes; counted every byte" in message


def test_a_plug_in_without_the_method_is_refused(tokcap, plugin):
    ran = tokcap("--tokenizer", "words", "-n", "2", stdin=b"x", env=plugin("class Words: pass"))
    assert (ran.status, ran.out) == (125, b"")
    assert b"has no method token_lengths" in ran.err


def test_a_plug_in_that_cannot_be_loaded_is_refused(tokcap, plugin):
    ran = tokcap("--tokenizer", "words", "-n", "2", stdin=b"x", env=plugin("raise RuntimeError('no')"))
    assert (ran.status, ran.out) == (125, b"")
    assert b"cannot be loaded: RuntimeError('no')" in ran.err


BROKEN = "class Words:\n    def token_lengths(self, text): raise RuntimeError('broken')"


@pytest.mark.provokes("TOKENIZER_FAILED")
def test_a_tokenizer_that_fails_on_the_output_costs_exactness_not_output(tokcap, plugin):
    world = plugin(BROKEN)
    ran = tokcap("--tokenizer", "words", "-n", "4", "--", "sh", "-c", "echo abcdefgh; exit 3", env=world)
    assert ran.status == 3
    assert ran.out == b"abcd"
    # A limit of 500 bytes has room for the warning.
    ran = tokcap("--tokenizer", "words", "-n", "500", "--", "seq", "1000", env=world)
    assert b"warning: the plug-in 'words' failed: RuntimeError('broken')" in ran.err
    ran = tokcap("--tokenizer", "words", "-n", "900", "-o", "json", "--", "seq", "3", env=world)
    assert ran.json["data"] == ["1\n2\n3\n"]
    assert ran.json["warnings"][0]["code"] == "TOKENIZER_FAILED"
    assert "total_tokens" not in ran.json["meta"]
    assert ran.json["meta"]["total_tokens_estimate"] == 6
    ran = tokcap("--tokenizer", "words", "-n", "500", "--", "seq", "1000", env=world)
    assert b" of about 3.9k tokens; next: --token-offset " in ran.out


def test_a_count_that_a_tokenizer_cannot_give_is_not_made_up(tokcap, plugin):
    world = plugin(BROKEN)
    ran = tokcap(
        "--tokenizer", "words", "--token-count", "-o", "json", "--", "sh", "-c", "echo x; exit 3", env=world
    )
    assert (ran.status, ran.json["data"], ran.json["error"]["code"]) == (3, None, "COMMAND_FAILED")
    ran = tokcap(
        "--tokenizer", "words", "--token-count", "--spill", "always", "-o", "json", stdin=b"x", env=world
    )
    assert (ran.status, ran.json["error"]["code"]) == (125, "TOKENIZER_UNAVAILABLE")
    ran = tokcap("--tokenizer", "words", "--token-count", stdin=b"x", env=world)
    assert (ran.status, ran.out) == (125, b"")
    assert b"nothing was counted" in ran.err


@pytest.mark.parametrize("lengths", ["[1]", "[0] * 9 + [len(text)]", "[-1, len(text) + 1]"])
@pytest.mark.provokes("TOKENIZER_FAILED")
def test_lengths_that_do_not_add_up_are_a_failure(tokcap, plugin, lengths):
    world = plugin(f"class Words:\n    def token_lengths(self, text): return {lengths}")
    ran = tokcap("--tokenizer", "words", "-n", "3", stdin=b"abcdef", env=world)
    assert ran.out == b"abc"
    ran = tokcap("--tokenizer", "words", "-n", "900", "-o", "json", stdin=b"abcdef", env=world)
    assert "do not add up" in ran.json["warnings"][0]["message"]


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.provokes("TOKENIZER_FAILED", "CUT_FAILED")
def test_where_not_even_a_cut_can_be_made_the_beginning_comes_out(inside, monkeypatch, output):
    """The command may have been the one that removes tokcap."""
    monkeypatch.setitem(sys.modules, "tokcap.steps.examination", None)
    ran = inside("-n", "400", "-o", output, "--", "sh", "-c", "seq 1 1000; echo no >&2; exit 3")
    assert (ran.status, b"no\n" in ran.err) == (3, True)
    shown = ran.out if output == "text" else ran.json["data"][0].encode()
    assert shown.startswith(b"1\n2\n3\n")
    assert recount(shown) <= 400
    assert b"cutting failed" in ran.err + ran.out


def test_a_panic_inside_the_encoder_becomes_a_failure_and_interrupts_pass(monkeypatch):
    class PanicException(BaseException):
        pass

    class Engine:
        most_characters = 100

        def encode(self, text):
            raise {"panic": PanicException, "interrupt": KeyboardInterrupt}[text]("boom")

    tokenizer = bpe.BytePairTokenizer("x", Engine(), 1, None)
    with pytest.raises(bpe.TokenizerFailed, match="boom"):
        tokenizer.count("panic")
    with pytest.raises(KeyboardInterrupt):
        tokenizer.count("interrupt")


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_the_embedded_tables_need_neither_network_nor_cache(tokcap, name):
    world = {
        "https_proxy": "http://127.0.0.1:9",
        "TIKTOKEN_CACHE_DIR": "/nonexistent",
        "TMPDIR": "/nonexistent",
    }
    text = b"no network, no cache\n"
    ran = tokcap("--tokenizer", name, "--token-count", stdin=text, env=world)
    assert (ran.out, ran.err) == (b"%d\n" % recount(text, name), b"")
