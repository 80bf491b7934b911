"""A count says whether it is in the tokens of the model that reads it."""

import pytest

from tests.support import published
from tests.support.reference import recount
from tests.support.tiers import nightly
from tokcap.tokens.models import find_model

SEQ = "".join(f"{number}\n" for number in range(1, 1001)).encode()
WARNING = "the tokenizer of grok-4 is not published; counted with cl100k_base"


def facts(ran) -> tuple:
    found = ran.json
    return found["meta"].get("tokenizer_exact"), [warning["code"] for warning in found["warnings"]]


@pytest.mark.parametrize(
    ("args", "exact", "codes"),
    [
        ([], None, []),
        (["--tokenizer", "o200k_base"], None, []),
        (["--model", "gpt-4o"], True, []),
        (["--model", "gpt-4o-2024-08-06", "--tokenizer", "o200k_base"], True, []),
        (["--model", "gpt-4o", "--tokenizer", "cl100k_base"], False, []),
        (["--model", "grok-4"], False, ["TOKENIZER_SUBSTITUTED"]),
        (["--model", "x-ai/grok-code-fast-1"], False, ["TOKENIZER_SUBSTITUTED"]),
        (["--model", "qwen3-coder-plus"], False, ["TOKENIZER_SUBSTITUTED"]),
        # Whoever names a tokenizer knows that it is another one.
        (["--model", "claude", "--tokenizer", "cl100k_base"], False, []),
        (["--model", "claude", "--tokenizer", "approx"], False, []),
    ],
    ids=str,
)
def test_a_model_whose_tokenizer_is_not_published_is_not_counted_exactly(inside, args, exact, codes):
    for more in ([], ["-n", "300"], ["--token-count"], ["--mode", "summary"]):
        assert facts(inside(*args, *more, "-o", "json", stdin=SEQ)) == (exact, codes)


def test_the_model_may_be_named_by_a_variable_or_by_the_config_file(inside, tmp_path):
    assert facts(inside("-o", "json", stdin=SEQ, env={"TOKCAP_MODEL": "grok-4"}))[0] is False
    config = tmp_path / "config.toml"
    config.write_text(
        'model = "mine"\n[models.mine]\ncontext_window = 9000\ntokenizer = "o200k_base"\n'
        "[models.other]\ncontext_window = 9000\n"
    )
    env = {"TOKCAP_CONFIG": str(config)}
    assert facts(inside("-o", "json", stdin=SEQ, env=env)) == (True, [])
    assert facts(inside("-o", "json", "--model", "other", stdin=SEQ, env=env)) == (
        False,
        ["TOKENIZER_SUBSTITUTED"],
    )


def test_text_form_says_it_on_stderr_where_something_was_counted(inside):
    for args in (["-n", "500"], ["--token-count"]):
        ran = inside("--model", "grok-4", *args, stdin=SEQ)
        assert WARNING.encode() in ran.err
        assert ran.err.count(b"\n") == 1
    ran = inside("--model", "grok-4", "-n", "60", stdin=SEQ)
    assert recount(ran.out) + recount(ran.err) <= 60 + recount(b"tokcap: warning: " + WARNING.encode())
    assert inside("--model", "grok-4", "-n", "500", stdin=b"hi\n").err == b"", "nothing was counted"
    assert inside("--model", "gpt-4o", "-n", "60", stdin=SEQ).err == b""


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("claude", "claude"),
        ("claude-opus-4-7", "claude"),
        ("claude-opus-4-8-20260901", "claude"),
        ("claude-sonnet-5", "claude"),
        ("opus", "claude"),
        ("claude-opus-4-6[1m]", "claude-4.6"),
        ("claude-sonnet-4-5-20250929", "claude-4.6"),
        ("claude-3-7-sonnet-latest", "claude-4.6"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "claude-4.6"),
        ("openrouter/anthropic/claude-opus-4-7", "claude"),
        ("gemini-2.5-pro", "gemini"),
        ("models/gemini-3-flash", "gemini"),
        ("gpt-5.4-codex", "o200k_base"),
    ],
)
def test_a_model_is_counted_with_its_tokenizer_or_profile(inside, model, tokenizer):
    meta = inside("--model", model, "-n", "400", "-o", "json", stdin=SEQ).json["meta"]
    assert meta["tokenizer"] == tokenizer
    assert meta["tokenizer_exact"] is (tokenizer == "o200k_base")
    assert ("total_tokens_estimate" in meta) is (tokenizer != "o200k_base")


def test_a_million_tokens_in_the_name_of_a_model_are_its_window():
    assert find_model("claude-opus-4-6[1m]", {}).context_window == 1_000_000
    assert find_model("claude-opus-4-6", {}).context_window == 200_000


def test_an_unknown_model_is_answered_with_the_nearest_names(inside):
    ran = inside("--model", "claud-opus", "--", "true")
    assert ran.status == 125
    assert b"'claud-opus' is not a known model; did you mean " in ran.err
    assert b"claude-opus-4" in ran.err
    assert inside("--model", "zzzzzz", "--", "true").err.count(b"did you mean") == 0


@published.needed
@nightly
def test_a_model_is_counted_exactly_if_its_vocabulary_was_added(inside):
    env = {"TOKCAP_DATA_DIR": published.data_dir("qwen3")}
    found = inside(
        "--model",
        "Qwen/Qwen3-Coder-480B",
        "--token-count",
        "--spill",
        "always",
        "-o",
        "json",
        stdin=SEQ,
        env=env,
    ).json
    assert (found["meta"]["tokenizer"], found["meta"]["tokenizer_exact"]) == ("qwen3", True)
    assert found["warnings"] == []
    ran = inside("--model", "Qwen/Qwen3-Coder-480B", "--token-count", stdin=SEQ)
    assert b"was not added (tokcap tokenizer add qwen3 FILE); counted with cl100k_base" in ran.err
