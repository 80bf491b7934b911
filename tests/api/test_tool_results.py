"""`cap_result` and `show_tool`: what a model gets of a tool's result, and how it reads on without a shell."""

import ast
import asyncio
import dataclasses
import enum
import inspect
import json
import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import reference
from tokcap import BudgetExhausted, ShowTool, acap_result, cap_result, open_session, show_tool

pytestmark = pytest.mark.usefixtures("with_store")

CALL = re.compile(r"call (tokcap_show\([^)]*\))")
LINES = "".join(f"line {number}\n" for number in range(3000))
DOCUMENT = {"items": [{"id": number, "name": f"item {number}"} for number in range(900)]}


class Level(enum.StrEnum):
    ERROR = "error-of-this-service"


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    lines: list[int]
    level: Level = Level.ERROR


@dataclasses.dataclass
class Report:
    title: str
    findings: list[Finding]
    totals: dict[str, int]


class Model:
    """A model as pydantic makes it, as far as `cap_result` uses one."""

    def __init__(self, path, parts):
        self.path, self.parts = path, parts

    def model_dump(self, mode="python"):
        return {"path": self.path, "parts": self.parts}

    @classmethod
    def model_json_schema(cls):
        path = {"type": "string", "minLength": 3}
        return {
            "type": "object",
            "properties": {"path": path, "parts": {"type": "array"}},
            "required": ["path", "parts"],
        }

    def __str__(self):
        return f"path={self.path!r} parts={self.parts!r}"


def recount(text: str) -> int:
    return reference.recount(text.encode("utf-8", "surrogatepass"))


def writings(value) -> list[str]:
    """What frameworks make of a result."""
    if isinstance(value, str | bytes | BaseException):
        return [value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)]
    plain = value.model_dump(mode="json") if isinstance(value, Model) else value
    plain = dataclasses.asdict(plain) if dataclasses.is_dataclass(plain) else plain
    compact = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    return [compact, json.dumps(plain), json.dumps(plain, ensure_ascii=False), str(value)]


def follow(text: str, tool=show_tool) -> list[str]:
    """Call what the mark names, and what the mark of each page names."""
    found = [text]
    while call := CALL.search(found[-1]):
        given = {word.arg: ast.literal_eval(word.value) for word in ast.parse(call[1]).body[0].value.keywords}
        found.append(tool.function(**given))
        assert len(found) < 200
    return found


def report(size: int) -> Report:
    findings = [Finding(f"src/module_{number}.py", [*range(number)]) for number in range(size)]
    return Report("a report " * 9, findings, {f"kind {number}": number for number in range(size)})


SAME = [
    None,
    True,
    7,
    "short",
    b"\xff",
    [],
    {},
    {"a": [1, 2.5, None]},
    (1, 2),
    {3},
    ValueError("no"),
    report(2),
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_what_fits_is_the_same_object(value, with_store):
    assert cap_result(value, 200) is value
    assert asyncio.run(acap_result(value)) is value
    assert not with_store.exists()


CUT = [
    LINES, LINES.encode(), b"\xff\n" * 3000, DOCUMENT, DOCUMENT["items"], [*range(4000)], {*range(4000)},
    tuple(DOCUMENT["items"]), {"text": LINES}, {"a": {"b": [LINES] * 9}}, {"ü": ["äöü ✓"] * 900},
    dict.fromkeys(range(2000), "x"), [float("nan")] * 3000, ["\ud800 x"] * 900, 10**4000,
    ValueError(LINES), KeyError(LINES), report(300),
    Model("a/" * 9000, []), Model("a longer path", [*range(5000)]),
]  # fmt: skip


@pytest.mark.parametrize("limit", [8, 60, 500, 4000])
@pytest.mark.parametrize("value", CUT, ids=lambda value: type(value).__name__)
def test_every_writing_of_a_cut_result_is_within_the_limit_and_keeps_its_kind(value, limit):
    found = cap_result(value, limit, keep="auto")
    assert all(recount(text) <= limit for text in writings(found))
    if found is value or limit < 60 or isinstance(value, int):
        return
    kind = list if isinstance(value, tuple | set) else type(value)
    if isinstance(value, KeyError):
        # It words its message itself.
        kind = RuntimeError
    elif isinstance(value, Report | Model):
        kind = dict
    assert type(found) is kind
    assert "[TRUNCATED]" in str(found)
    json.dumps(found) if isinstance(found, dict | list) else None
    (calls,) = {call[1] for call in CALL.finditer(str(found).replace("\\'", "'"))} or {""}
    assert calls
    everything = show_tool.replace(limit=10**6).function(re.findall('handle="(.*?)"', calls)[0])
    if isinstance(value, str | Exception):
        assert everything == str(value)
    elif isinstance(value, dict | list):
        nans = [None if each != each else each for each in value] if isinstance(value, list) else value
        assert everything in LINES or json.loads(everything) == json.loads(json.dumps(nans))


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=60),
        lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=9), inner, max_size=9),
        max_leaves=60,
    ),
    limit=st.integers(1, 300),
)
def test_any_json_value_is_within_any_limit(value, limit):
    found = cap_result(value, limit)
    assert found is value or all(recount(text) <= limit for text in writings(found))
    if isinstance(value, dict | list) and limit >= 150:
        assert type(found) is type(value)


def test_a_typed_result_is_valid_by_its_schema_and_says_that_it_is_cut():
    found = cap_result(report(300), 4000)
    assert {*found} == {"title", "findings", "totals", "[TRUNCATED]"}
    assert 0 < len(found["findings"]) < 300
    assert all({*each} == {"path", "lines", "level"} for each in found["findings"])
    assert CALL.search(found["[TRUNCATED]"])
    numbers = cap_result(Model("a path", [*range(5000)]), 200)
    assert jsonschema.validate(numbers, Model.model_json_schema()) is None
    assert CALL.search(numbers["[TRUNCATED]"])


def test_a_long_string_is_cut_as_text_in_its_place():
    run = {
        "status": 1,
        "streams": [{"name": "stdout", "text": LINES + "ERROR: disk full\n" + LINES}],
        "ok": False,
    }
    found = cap_result(run, 300)
    assert (found["status"], found["ok"], found["streams"][0]["name"]) == (1, False, "stdout")
    text = found["streams"][0]["text"]
    assert "ERROR: disk full" in text
    assert 200 < max(map(recount, writings(found))) <= 300
    assert follow(text)[1].partition("[TRUNCATED]")[0][:40] in run["streams"][0]["text"]
    typed = cap_result(Finding(LINES, [1]), 300)
    assert (typed["lines"], "line 2999" in typed["path"]) == ([1], True)


def test_following_the_marks_gives_the_whole_text():
    pages = follow(cap_result(LINES, 400, keep="head"))
    shown = [page.partition("[TRUNCATED]")[0] for page in pages]
    assert "".join(shown) == LINES
    assert all(recount(page) <= 4000 for page in pages)


def test_following_the_marks_shows_every_value_once():
    found = cap_result(DOCUMENT, 400, keep="head")
    pages = follow(found["[TRUNCATED]"], show_tool.replace(limit=600))[1:]
    rest = [json.loads(page.partition("\n[TRUNCATED]")[0]) for page in pages]
    items = [item for part in (found, *rest) for item in part["items"] if item != "[TRUNCATED]"]
    merged = {}
    for item in items:
        merged.setdefault(item.get("id", [*merged][-1] if merged else None), {}).update(item)
    assert [*merged] == [*range(900)]


def test_the_mark_is_a_command_for_a_reader_with_a_shell():
    assert re.search(r"; tokcap show \w+@\d+$", cap_result(LINES, 100, show=None).strip())
    assert "call more(handle=" in cap_result(LINES, 100, show=ShowTool("more"))


def test_secrets_are_masked_also_in_a_result_that_fits_or_has_a_type():
    secret = "ghp_" + "a1B2" * 9
    assert secret not in str(cap_result({"token": secret}, redact=True))
    for value in (Report(secret, [], {}), Report(f"key {secret} ", [Finding(LINES, [])], {})):
        assert secret not in str(cap_result(value, 200, redact=True))
    harmless = {"name": "ada"}
    assert cap_result(harmless, redact=True, clean=True) is harmless
    assert cap_result({"a": 1, "b": 2}, fields="b") == {"b": 2}


def test_the_tool_describes_itself_as_its_function_does():
    signature = inspect.signature(show_tool.function)
    assert [*show_tool.schema["properties"]] == [*signature.parameters]
    required = [name for name, each in signature.parameters.items() if each.default is each.empty]
    assert show_tool.schema["required"] == required == ["handle"]
    assert inspect.signature(show_tool.async_function) == signature
    assert inspect.iscoroutinefunction(show_tool.async_function)
    assert show_tool.name == show_tool.function.__name__ == "tokcap_show"
    assert show_tool.description in inspect.getdoc(show_tool.function)


def test_the_tool_searches_finds_values_and_tells_mistakes_as_text():
    (handle,) = re.findall(r'handle="(\w+)"', str(cap_result({**DOCUMENT, "log": LINES}, 100)))
    assert show_tool.function(handle, pointer="/items/3/name") == "item 3"
    assert "item 77" in show_tool.function(handle, pattern="item 77", limit="300")
    assert asyncio.run(show_tool.async_function(handle=handle, pointer="/items/4/id")) == "4\n"
    assert show_tool.function("none0000").startswith("NOT_FOUND: ")
    assert show_tool.function(handle, offset="many").startswith("USAGE: ")
    assert show_tool.call({"handle": handle, "page": 2}).startswith("USAGE: unknown argument 'page'")
    assert recount(show_tool.replace(limit=50).function(handle, limit=900)) <= 50


def test_a_session_pays_until_it_is_exhausted_and_the_last_result_is_delivered():
    costs = []
    with open_session("loop", total=1000) as budget:
        try:
            while True:
                found = cap_result(DOCUMENT if len(costs) % 2 else LINES, 400, session="loop")
                costs.append(max(map(recount, writings(found))))
        except BudgetExhausted:
            pass
        assert budget.used == sum(costs) <= 1000
        assert len(costs) > 2
        with pytest.raises(BudgetExhausted):
            show_tool.replace(session="loop").function("@last")
        budget.end()


def test_the_question_of_the_reader_chooses_what_is_shown():
    text = LINES.replace("line 1234\n", "the parcel of Miller waits in Bremen\n")
    assert "Bremen" in cap_result(text, 200, ask="where is the parcel of Miller?")
    assert "Bremen" in cap_result({"text": text}, 200, ask="where is the parcel of Miller?")["text"]


def test_rules_of_the_configuration_apply_by_the_name_of_the_tool(monkeypatch, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(
        '[[rule]]\nmatch = "search_*"\nlimit = 100\nkeep = "tail"\nfields = "log"\n'
        '[[rule]]\nmatch = "read_file"\npass = true\n'
    )
    monkeypatch.setenv("TOKCAP_CONFIG", str(config))
    text = {"log": LINES.splitlines(), "id": 1}
    found = cap_result(text, tool="search_code")
    assert (recount(json.dumps(found)) <= 100, "line 2999" in found["log"], "id" in found) == (
        True,
        True,
        False,
    )
    # What the call says wins.
    assert recount(json.dumps(cap_result(text, 300, tool="search_code"))) > 150
    assert "id" in cap_result(text, tool="search_code", fields="id")
    assert cap_result(LINES, tool="read_file") is LINES
    assert recount(cap_result(LINES, tool="other")) > 3000
