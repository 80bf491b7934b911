"""The recipes of docs/library.md: real frameworks, with a scripted model that records what it receives."""

import ast
import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from tests.support.agents.fake_model import FINAL_TEXT, FakeModel
from tests.support.program import ROOT
from tests.support.reference import recount
from tests.support.tiers import nightly

GUIDE = (ROOT / "docs" / "library.md").read_text()
RECIPES = dict(re.findall(r"^### ([^\n]*)\n\n```python recipe\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE))
SAMPLES = ROOT / "docs" / "samples"
# `.ci/frameworks DIRECTORY` makes it.
PLACE = os.environ.get("TOKCAP_TESTS_FRAMEWORKS", "")
LIMIT, SHOWN_LIMIT = 1000, 4000
# What frameworks put around a result.
FRAME_TOKENS = 25
FIND = {"tool": "find_orders", "arguments": {"customer": "Ada"}}
FINISH = {"tool": "final_answer", "arguments": {"answer": FINAL_TEXT}}
# They tell the model that the budget is exhausted.
GOES_ON = ("OpenAI Agents", "smolagents", "LlamaIndex")

pytestmark = [
    nightly,
    pytest.mark.skipif(not PLACE, reason="TOKCAP_TESTS_FRAMEWORKS names no environment: see .ci/frameworks"),
]


def follow(results: list[str]) -> dict:
    """Return the call that the last result names."""
    plain = results[-1].replace('\\"', '"').replace("\\'", "'")
    call = re.findall(r"call (tokcap_show\([^)]*\))", plain)[-1]
    words = ast.parse(call).body[0].value.keywords
    return {"tool": "tokcap_show", "arguments": {word.arg: ast.literal_eval(word.value) for word in words}}


def run(
    name: str, script: list, total: int, tmp_path: Path
) -> tuple[list[str], subprocess.CompletedProcess[str]]:
    """Run a recipe with a scripted model. Return the results that the model received, and the process."""
    model = FakeModel([*script, FINISH] if name == "smolagents" else script)
    server = model.server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    env = {
        **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), "none"),
        **dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), url),
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(SAMPLES),
        "no_proxy": "*",
    }
    recipe = tmp_path / "recipe.py"
    recipe.write_text(RECIPES[name])
    start = [f"{PLACE}/bin/tokcap", "budget", "start", "shop", "--total", str(total)]
    subprocess.run(start, env=env, check=True, capture_output=True)
    try:
        done = subprocess.run(
            [f"{PLACE}/bin/python", recipe], cwd=SAMPLES, env=env, capture_output=True, text=True, timeout=240
        )
    finally:
        server.shutdown()
        server.server_close()
    assert model.problem == ""
    return model.results, done


def test_there_is_a_recipe_for_each_framework_and_client():
    assert len(RECIPES) == 8


@pytest.mark.parametrize("name", RECIPES)
def test_the_model_gets_a_capped_result_and_reads_on_by_its_mark(name, tmp_path):
    results, done = run(name, [FIND, follow], 100_000, tmp_path)
    assert done.returncode == 0, done.stderr
    assert FINAL_TEXT in done.stdout
    first, rest, *_ = results
    assert recount(first.encode()) <= LIMIT + FRAME_TOKENS
    assert "1001" in first
    assert "[TRUNCATED]" in first
    # All orders are in one of the two.
    assert all(str(number) in first + rest for number in range(1001, 1061))
    assert recount(rest.replace('\\"', '"').encode()) <= SHOWN_LIMIT + FRAME_TOKENS


@pytest.mark.parametrize("name", RECIPES)
def test_an_exhausted_budget_ends_the_loop_without_an_error(name, tmp_path):
    results, done = run(name, [FIND] * 8, 1500, tmp_path)
    assert done.returncode == 0, done.stderr
    delivered = [text for text in results if "budget is exhausted" not in text and "That is all" not in text]
    # Each is delivered, though the last ones are short.
    assert 2 < len(delivered) < 8
    assert sum(recount(text.encode()) for text in delivered) < 1500 + FRAME_TOKENS * len(delivered)
    assert "budget is exhausted" in (results[-1] + done.stdout if name in GOES_ON else done.stdout)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_accept_the_recipes_and_the_examples(checker, tmp_path):
    guides = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    blocks = [
        code
        for guide in guides
        for code in re.findall(r"^```python.*?\n(.*?)^```$", guide.read_text(), re.DOTALL | re.MULTILINE)
    ]
    for number, code in enumerate(blocks):
        (tmp_path / f"block_{number}.py").write_text(code)
    (tmp_path / "shop.py").write_text((SAMPLES / "shop.py").read_text())
    # smolagents has no types.
    untyped = ("--disable-error-code=import-untyped", "--disable-error-code=untyped-decorator")
    line = [f"{PLACE}/bin/mypy", "--strict", "--follow-imports=silent", *untyped, "."]
    if checker == "pyright":
        line = [f"{PLACE}/bin/pyright", "--pythonpath", f"{PLACE}/bin/python", "--outputjson", "."]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"] if checker == "pyright" else done.stdout
    assert (done.returncode, bool(blocks)) == (0, True), found
