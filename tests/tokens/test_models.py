"""A count says whether it is in the tokens of the model that reads it."""

import pytest

from tests.support.reference import recount
from tokcap import run

SEQ = "".join(f"{number}\n" for number in range(1, 1001)).encode()
WARNING = "the tokenizer of claude is not published; counted with cl100k_base"


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
        (["--model", "claude"], False, ["TOKENIZER_SUBSTITUTED"]),
        (["--model", "claude-sonnet-4-5"], False, ["TOKENIZER_SUBSTITUTED"]),
        (["--model", "gemini"], False, ["TOKENIZER_SUBSTITUTED"]),
        # Whoever names a tokenizer knows that it is another one.
        (["--model", "claude", "--tokenizer", "cl100k_base"], False, []),
        (["--model", "claude", "--tokenizer", "approx"], False, []),
    ],
    ids=str,
)
def test_a_model_whose_tokenizer_is_not_published_is_not_counted_exactly(inside, args, exact, codes):
    for more in ([], ["-n", "50"], ["--token-count"], ["--mode", "summary"]):
        assert facts(inside(*args, *more, "-o", "json", stdin=SEQ)) == (exact, codes)


def test_the_model_may_be_named_by_a_variable_or_by_the_config_file(inside, tmp_path):
    assert facts(inside("-o", "json", stdin=SEQ, env={"TOKCAP_MODEL": "claude"}))[0] is False
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
        ran = inside("--model", "claude", *args, stdin=SEQ)
        assert WARNING.encode() in ran.err
        assert ran.err.count(b"\n") == 1
    ran = inside("--model", "claude", "-n", "60", stdin=SEQ)
    assert recount(ran.out) + recount(ran.err) <= 60 + recount(b"tokcap: warning: " + WARNING.encode())
    assert inside("--model", "claude", "-n", "500", stdin=b"hi\n").err == b"", "nothing was counted"
    assert inside("--model", "gpt-4o", "-n", "60", stdin=SEQ).err == b""


def test_the_library_says_it_too():
    result = run(["seq", "1", "1000"], limit=100, model="claude", spill="never")
    assert result.meta.tokenizer_exact is False
    assert [notice.code for notice in result.warnings] == ["TOKENIZER_SUBSTITUTED"]
    assert run(["seq", "1", "1000"], limit=100, spill="never").meta.tokenizer_exact is None


def test_a_stored_output_is_shown_with_the_same_words(inside, with_store):
    inside("-n", "50", stdin=SEQ)
    assert facts(inside("show", "@last", "--model", "claude", "-n", "50", "-o", "json")) == (
        False,
        ["TOKENIZER_SUBSTITUTED"],
    )
