"""The names that `tokcap` exports: complete, typed, documented with working examples, and fast to import."""

import ast
import doctest
import importlib
import subprocess
import sys
import textwrap

import pytest

import tokcap
from tests.support.program import PACKAGE
from tests.support.tiers import nightly
from tokcap.api import keywords
from tokcap.cli.options import options_of

LIBRARY = sorted(path.stem for path in (PACKAGE / "api").glob("[a-z]*.py"))


def python(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=120, check=False, **options
    )


def names_for_type_checkers() -> set[str]:
    """The names that `tokcap/__init__.py` imports where only a type checker reads."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_python_and_type_checkers_see_the_same_names():
    namespace: dict[str, object] = {}
    exec("from tokcap import *", namespace)
    assert set(tokcap.__all__) == namespace.keys() - {"__builtins__"} == names_for_type_checkers()
    assert sorted([*tokcap.__all__, "__version__"]) == dir(tokcap)
    assert tokcap.__all__ == sorted(tokcap.__all__)
    promised = {"cap", "count", "run", "arun", "show", "pages", "open_session", "ToolBudget", "BudgetManager"}
    assert promised <= set(tokcap.__all__)


def test_every_error_a_caller_can_meet_is_exported():
    from tokcap import errors

    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    # The library never raises these.
    inner = {
        "HookRefused",
        "PackageMissing",
        "ReaderGone",
        "TokenizerFailed",
        "TokenizerRefused",
    }
    assert kinds - inner <= set(tokcap.__all__)


def test_importing_tokcap_loads_almost_nothing():
    done = python("-c", "import sys; b = {*sys.modules}; import tokcap; print(*{*sys.modules} - b)")
    allowed = {"__future__", "tokcap", "tokcap.startup", "tokcap.startup.record"}
    assert {"tokcap"} <= set(done.stdout.split()) <= allowed


def test_every_name_works_with_only_the_package_installed(tmp_path):
    """Test the package in another place, without the checkout and the set-up of these tests."""
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "tokcap").symlink_to(PACKAGE)
    assert (PACKAGE / "py.typed").exists()
    code = """
        import sys; sys.path.insert(0, sys.argv[1])
        import tokcap
        from tokcap import *
        assert tokcap.__file__.startswith(sys.argv[1])
        print(cap("one two three", 2, sentinel="").text, count("one two three"), run(["echo", "hi"]).stdout)
    """
    done = python("-I", "-W", "error", "-c", textwrap.dedent(code), str(tmp_path / "alone"), cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("one two 3 hi\n\n", "")


@pytest.mark.parametrize("name", LIBRARY)
def test_the_examples_in_docstrings_run(name, with_store):
    failed, _ = doctest.testmod(importlib.import_module(f"tokcap.api.{name}"))
    assert failed == 0


def test_keyword_arguments_are_the_options_of_the_command_line():
    # An option without a name is a setting of the stand-in shells.
    of_run = {option.key for option in options_of("run") if option.has_name}
    of_show = {option.key for option in options_of("show")}
    named = {*keywords.RunOptions.__annotations__} - {"offset"} | {"token_limit", "token_offset"}
    shown = {*keywords.ShowOptions.__annotations__} - {"offset"} | {"token_limit", "token_offset"}
    assert (named, shown) == (of_run, of_show)


CONSUMER = """
    import asyncio
    from collections.abc import Iterator
    from typing import assert_type

    import tokcap
    from tokcap import BudgetManager, Capped, Notice, Result, ToolBudget

    assert_type(tokcap.cap("text", 10), Capped[str])
    assert_type(tokcap.cap(b"data", 10, offset=3, keep="tail", fields=["a"]).text, bytes)
    assert_type(tokcap.cap("text", None).next_offset, int | None)
    assert_type(tokcap.count(b"data", tokenizer="approx"), int)
    result = tokcap.run(["ls"], limit=10, timeout=5, stderr="merge", input="x", cwd="/", env={})
    assert_type(result, Result)
    assert_type(result.stdout, str)
    assert_type(result.warnings, tuple[Notice, ...])
    assert_type(result.status, int)
    assert_type(asyncio.run(tokcap.arun(["ls"], limit=10)), Result)
    assert_type(tokcap.show("@last", grep="x", context=2), Capped[str])
    assert_type(tokcap.pages(b"data", 10), Iterator[Capped[bytes]])
    assert_type(tokcap.pages(handle="3f2a", limit=10), Iterator[Capped[str]])
    with tokcap.open_session("work", total=100) as budget:
        assert_type(budget, BudgetManager)
    assert_type(ToolBudget(1000, used=5).allowance, int)
    try:
        pass
    except (tokcap.UsageError, tokcap.BudgetExhausted) as error:
        assert_type(error.exit_status, int)
"""

MISTAKES = [
    'tokcap.cap("text", "10")',
    'tokcap.cap("text", 10, keep="middle")',
    'tokcap.cap("text", 10, timeout=5)',
    'tokcap.run(["ls"], shapes="json")',
    'tokcap.run("ls -l", limit="many")',
    "tokcap.nothing",
]


@nightly
def test_a_type_checker_finds_the_types_and_the_mistakes(tmp_path):
    pytest.importorskip("mypy", reason="the package mypy is not installed: pip install '.[lint]'")
    consumer = tmp_path / "consumer.py"
    consumer.write_text(textwrap.dedent(CONSUMER) + "".join(f"{line}\n" for line in MISTAKES))
    first_mistake = len(textwrap.dedent(CONSUMER).splitlines()) + 1
    done = python(
        "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", "cache", "consumer.py",
        cwd=tmp_path, env={"PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert wrong == set(range(first_mistake, first_mistake + len(MISTAKES))), done.stdout
