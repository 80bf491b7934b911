"""The map of the code holds: imports point one way, heavy libraries stay in their rooms."""

import ast
import functools
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.loading import modules_loaded_for
from tests.support.program import PACKAGE

MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# Where a library may be imported. No other module imports it.
ROOMS = {
    "typer": ("cli/", "integrations/"),
    "click": "integrations/",
    "tiktoken": "tokens/",
    "regex": "tokens/",
    "kitoken": "tokens/",
    "msgspec": ("shapes/json_compiled.py",),
    "obstore": "store/bucket_obstore.py",
    "pathspec": "cli/commands/count_tree.py",
    "sqlite3": "budget/sqlite.py",
    "platformdirs": (),
    # The protocol over stdio needs no package. Servers over HTTP are reached with the official client.
    "mcp": "mcp/http_server.py",
    "httpx2": "mcp/http_server.py",
    "pydantic": (),
    "matplotlib": "usage/report.py",
    "select": ("system/descriptors.py", "source/"),
}

# From the top down: a module imports only from lower layers, and from its own package. This includes imports
# that only a type checker reads.
LAYERS = [
    {"__main__", "cli", "api", "integrations", "mcp", "hooks", "doctor"},
    {"pipeline", "steps"},
    {"source", "filters", "tokens", "shapes", "outputs", "keep", "store", "budget", "usage"},
    {"core", "focus"},
    {"system", "environment", "errors", "exits", "startup"},
]

# The imports between neighbours of one layer. Packages of one layer do not know each other otherwise.
BESIDE = {
    # The command line hands over to the other front doors.
    "__main__": ("tokcap.cli",),
    "cli": ("tokcap.doctor", "tokcap.hooks", "tokcap.mcp", "tokcap.__main__"),
    # Option names, kinds and defaults are stated once, in the option table.
    "api": (
        "tokcap.cli.options",
        "tokcap.cli.kinds",
        "tokcap.cli.arguments",
        "tokcap.cli.config",
        "tokcap.cli.rules",
        # The tool that reads on is described once, and a value is shortened by its schema in one way.
        "tokcap.mcp.structured",
        "tokcap.mcp.tool_table",
    ),
    "integrations": ("tokcap.api", "tokcap.cli.options", "tokcap.cli.kinds"),
    "mcp": ("tokcap.api", "tokcap.cli.options", "tokcap.cli.rules"),
    # The doctor examines the others.
    "doctor": ("tokcap.cli", "tokcap.hooks"),
    "pipeline": ("tokcap.steps",),
    # What matters in a text is shown as a cut with marks.
    "focus": ("tokcap.core",),
    "environment": (
        "tokcap.errors",
        "tokcap.startup",
        "tokcap.system.descriptors",
        "tokcap.system.quoting",
    ),
    "errors": ("tokcap.exits",),
    "exits": ("tokcap.startup",),
    "system": ("tokcap.environment", "tokcap.errors", "tokcap.startup"),
}


@functools.cache
def imports_of(path: Path) -> set[tuple[str, bool]]:
    """Return the modules that a module imports anywhere, each with whether only a type checker reads it."""
    found = set()

    def visit(node: ast.AST, for_types: bool) -> None:
        if isinstance(node, ast.Import):
            found.update((alias.name, for_types) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "tokcap":
            found.update((f"tokcap.{alias.name}", for_types) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add((node.module, for_types))
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for child in node.body:
                visit(child, True)
            for child in node.orelse:
                visit(child, for_types)
        elif not isinstance(node, ast.expr):
            for child in ast.iter_child_nodes(node):
                visit(child, for_types)

    visit(ast.parse(path.read_text()), False)
    return found


def test_a_library_is_imported_only_in_its_room():
    wrong = [
        f"{place} imports {imported}"
        for path in MODULES
        for place in [str(path.relative_to(PACKAGE))]
        for imported, for_types in imports_of(path)
        if not for_types and not place.startswith(ROOMS.get(imported.partition(".")[0], ""))
    ]
    assert wrong == []


def private_modules_named_by(path: Path) -> set[str]:
    """Return the private modules of the interpreter that a module imports, or has the name of."""
    words = {name.partition(".")[0] for name, for_types in imports_of(path) if not for_types}
    words |= {node.value for node in nodes_of(path, ast.Constant) if isinstance(node.value, str)}
    return {word for word in words & sys.stdlib_module_names if word.startswith("_") and word[:2] != "__"}


def nodes_of(path: Path, kind: type) -> list:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kind)]


def test_private_modules_of_the_interpreter_are_imported_in_one_module_and_are_few():
    used = {str(path.relative_to(PACKAGE)): private_modules_named_by(path) for path in MODULES}
    named = used.pop("startup/accelerators.py")
    assert {place: names for place, names in used.items() if names} == {}
    assert len(named) <= 8
    about_imports_code_or_patterns = {
        "_imp",
        "_frozen_importlib",
        "_frozen_importlib_external",
        "_sre",
        "_ast",
    }
    assert named.isdisjoint(about_imports_code_or_patterns | {"_opcode", "_symtable", "_tokenize"})


def test_nothing_changes_how_python_imports():
    """No own importer, nothing marshalled, nothing put into `sys.modules`."""
    wrong = []
    for path in MODULES:
        place = path.relative_to(PACKAGE)
        wrong += [f"{place}: {name}" for name, _ in imports_of(path) if name.split(".")[0] == "marshal"]
        wrong += [
            f"{place}: {ast.unparse(node)}"
            for node in nodes_of(path, ast.Attribute)
            if node.attr in ("meta_path", "path_hooks", "path_importer_cache")
            or (ast.unparse(node.value) == "sys.modules" and node.attr != "get")
        ]
        wrong += [
            f"{place}: {ast.unparse(node)}"
            for node in nodes_of(path, ast.Subscript)
            if ast.unparse(node.value) == "sys.modules" and not isinstance(node.ctx, ast.Load)
        ]
    assert wrong == []


def layer_of(name: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if name in layer)


def points_down(room: str, imported: str) -> bool:
    top, _, rest = imported.partition(".")
    target = rest.partition(".")[0]
    if top != "tokcap" or target in ("", "__version__", room):
        return True
    allowed = tuple(f"{name}." for name in BESIDE.get(room, ()))
    return layer_of(target) > layer_of(room) or f"{imported}.".startswith(allowed)


def test_imports_point_down():
    rooms = [(path, path.relative_to(PACKAGE).parts[0].removesuffix(".py")) for path in MODULES]
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {imported}"
        for path, room in rooms
        if room != "__init__"
        for imported, _ in imports_of(path)
        if not points_down(room, imported)
    ]
    assert wrong == []


def modules_imported_by(*words: object) -> set[str]:
    """Return what a Python with these arguments imports, its start included."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        input=b"hi\n",
        capture_output=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},
        check=True,
        timeout=60,
    )
    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def test_a_short_output_needs_no_heavy_module():
    # The program as it was installed: the start script of an installer may import modules too.
    program = Path(sysconfig.get_path("scripts")) / "tokcap"
    loaded = modules_imported_by(program, "-n", "50") - modules_imported_by("-c", "pass")
    heavy = {"typer", "rich", "click", "orjson", "tiktoken", "regex", "platformdirs", "sqlite3", "asyncio"}
    heavy |= {
        "msgspec",
        "inspect",
        "typing",
        "dataclasses",
        "subprocess",
        "tomllib",
        "tempfile",
        "re",
        "enum",
    }
    heavy |= {"json", "importlib.metadata"}
    assert "tokcap.pipeline" in loaded
    assert loaded.isdisjoint(heavy)


def test_a_cut_of_text_loads_nothing_that_only_structured_outputs_need(with_store):
    text = b"".join(b"line %d\n" % number for number in range(3000))
    loaded = modules_loaded_for("-n", "200", stdin=text)
    assert "tokcap.store.local_layout" in loaded
    assert loaded.isdisjoint({"json", "re", "tiktoken", "tokcap.core.seek_points", "tokcap.shapes.json"})


def test_a_small_document_is_cut_without_the_libraries_for_large_ones():
    loaded = modules_loaded_for("-n", "170", "-o", "json", stdin=b'[{"a": [1, 2, 3]}, "b", null]')
    heavy = {"msgspec", "orjson", "json", "dataclasses", "datetime", "tiktoken"}
    assert loaded.isdisjoint(heavy)
    assert "tokcap.shapes.json_window" in loaded


@pytest.mark.parametrize("home", [None, "/home/me"])
@pytest.mark.parametrize("base", [None, "", "  ", "relative", "/else where"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_directories_are_those_that_platformdirs_names(system, base, home, monkeypatch):
    from platformdirs.macos import MacOS
    from platformdirs.unix import Unix

    from tokcap.environment import Environment

    for name, value in (("HOME", home), ("XDG_CONFIG_HOME", base), ("XDG_DATA_HOME", base)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    expected = (MacOS if system == "darwin" else Unix)("tokcap", appauthor=False)
    monkeypatch.setattr(sys, "platform", system)
    env = Environment(os.environ)
    assert env.config_file() == f"{expected.user_config_dir}/config.toml"
    assert env.data_dir() == expected.user_data_dir
