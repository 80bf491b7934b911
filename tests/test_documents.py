"""The documents for maintainers are true: the map, the table of members, the workflow."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re

import pytest

from tests.support.program import PACKAGE, ROOT

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "test.yml").read_text()
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def section(title: str) -> str:
    return ARCHITECTURE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_map_names_every_package_and_module_at_the_top_and_no_other():
    drawn = re.search(r"```text\ntokcap/\n(.*?)```", section("The map"), re.DOTALL)
    assert drawn is not None
    named = re.findall(r"^  (\S+)", drawn[1], re.MULTILINE)
    packages = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    assert sorted(named) == sorted(packages | modules)


def test_the_layers_are_those_of_the_architecture_test():
    tree = ast.parse((ROOT / "tests" / "test_architecture.py").read_text())
    (layers,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LAYERS"
    )
    rows = re.findall(r"^\| \d\. [^|]*\| ([^|]*) \|", section("Five layers"), re.MULTILINE)
    assert [set(re.findall(r"`(\w+)`", row)) for row in rows] == layers


FAMILIES = [
    (table, place.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for table, place in re.findall(r"`([A-Z]+)` in `([\w/]+\.py)`", section("Families"))
]


@pytest.mark.parametrize(("table", "module"), FAMILIES)
def test_the_tables_of_the_families_are_where_the_page_says(table, module):
    assert len(FAMILIES) > 10
    assert getattr(importlib.import_module(f"tokcap.{module}"), table)


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_exists(document):
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(), flags=re.DOTALL)
    words = re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?)`", text)
    assert words
    missing = [
        word
        for word in words
        if "NAME" not in word and not (ROOT / word).exists() and not (PACKAGE / word).exists()
    ]
    assert not [word for word in missing if not word.startswith("account/")]


def test_the_workflow_runs_the_test_line_of_the_readme():
    (line,) = re.findall(r"^python3 -m venv .*pytest.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert f"\n          {line}\n" in WORKFLOW
    assert all(f'"{version}"' in WORKFLOW for version in PYTHONS)
    assert "bash .ci/system-packages\n" in WORKFLOW
