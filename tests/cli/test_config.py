"""config.toml: what is wrong in it is told with file and key."""

import pytest

from tokcap.cli.config import read_config
from tokcap.errors import UsageError


@pytest.fixture
def refused(inside, tmp_path):
    """What a call says of a config file."""

    def run(text) -> str:
        path = tmp_path / "config.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        ran = inside("-o", "json", env={"TOKCAP_CONFIG": str(path)})
        assert ran.status == 125
        assert ran.err.count(b"\n") == 1
        assert ran.json["error"]["code"] == "USAGE"
        return ran.json["error"]["message"].removeprefix(str(path))

    return run


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1", ": unknown key 'a'; see man tokcap"),
        ("# x\n\ntoken-limit = 5", ": unknown key 'token-limit'; did you mean token_limit?"),
        ("keep = 'tail'\nresult_pct = 0.5", ": unknown key 'result_pct'; did you mean budget.result_pct?"),
        ("[budget]\ntoken_limit = 5", ": unknown key 'budget.token_limit'; did you mean token_limit?"),
        ("[budgte]\nresult_pct = 0.5", ": unknown key 'budgte'; did you mean budget?"),
        ("budget = { floor_tokens = 1,\tturn_pct = 9 }", ": budget.turn_pct: '9' is not a fraction"),
        ("keep = '''\ntail\n'''", ": keep: 'tail\\n' is not one of"),
        ("fields = '''a\nb'''\nkeep = 1", ": fields: 'a\\nb' is not text"),
        ("[models.'a.b']\ncontext_window = 5\nwindow = 1", ": unknown key 'models.a.b.window'"),
        ("[models]\nx.tokenizer = 1", ": models.x.tokenizer: 1 is not the name of a tokenizer"),
        (
            "models.x.contextwindow = 1",
            ": unknown key 'models.x.contextwindow'; did you mean context_window?",
        ),
        ("keep = 'tail'\nkeep = 'head'", ":2: Cannot overwrite a value"),
        ("keep = 'tail\nclean = 1 # '", ":1: Found invalid character"),
        ("a = 1\nkeep = [\n\n", ":4: "),
        ('keep = \'tail\'\n"""', ":2: "),
        (b"keep = 'tail'\n# \xff\n", ":2: is not UTF-8"),
        (f"keep = 'tail'\nturn = 'x'\ntoken_limit = {'9' * 5000}\nclean = true\n", ": a number is too long"),
        ("keep = 'nope'\r\nclean = 3\r\n", ": keep: 'nope' is not one of head, tail, ends"),
        ("token_limit = true", ": token_limit: true is not"),
        (f"token_limit = {'[' * 20000}", ": a number is too long, or a value is nested"),
        (f"token_limit = 0x{'f' * 5000}", ": token_limit: the number is not"),
        ("keep = 1979-05-27", ": keep: "),
        ("budget = 2", ": budget: expected a table [budget]"),
        ("[models.x]\ncontext_window = 0", ": models.x.context_window: '0' is not"),
        ("models = 1", ": models: expected tables of the form"),
        ("clean = 3\nkeep = 'nope'", ": clean: 3 is not one of true"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(refused, text, message):
    assert refused(text).startswith(message)


def test_an_empty_text_means_that_there_is_no_value_as_with_variables(tmp_path):
    assert read_config(b'token_limit = ""\ntimeout = ""', "c").values == {}
    with pytest.raises(UsageError, match="c: keep: '' is not"):
        read_config(b'keep = ""', "c")
