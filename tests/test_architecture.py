"""The map of the code holds: imports point one way, heavy libraries stay in their rooms."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PACKAGE

MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# Where a library may be imported. Everything else of the program does without it.
ROOMS = {
    "typer": ("cli/", "integration/"),
    "click": "integration/",
    "tiktoken": "tokens/",
    "regex": "tokens/",
    "gigatoken": "tokens/bulkextra.py",
    "sqlite3": "database.py",
    "_sqlite3": "database.py",
    "platformdirs": "environment.py",
    "mcp": "mcpserver/",
    "pydantic": "mcpserver/",
    "matplotlib": "statistics/plot.py",
    "select": ("environment.py", "source/"),
}

# From the top down; a module imports from its own line or from lines below it.
LAYERS = [
    {"shellentry"},
    {"__main__"},
    {"cli", "integration"},
    {"mcpserver"},
    {"library"},
    {"pipeline", "doctor"},
    {"fitting", "parts", "places", "storing"},
    {"keeping", "manager", "spending", "live", "progress", "statistics"},
    {"answer", "ways", "account", "data", "completions", "listing"},
    {"shaping", "beside"},
    {
        "arguments",
        "help",
        "capture",
        "source",
        "tokens",
        "cut",
        "render",
        "envelope",
        "fields",
        "grep",
        "store",
        "modes",
        "filters",
        "ledger",
        "hooks",
    },
    {"database", "configfile", "catalog"},
    {
        "window",
        "mark",
        "options",
        "jsontext",
        "tabletext",
        "landmarks",
        "private",
        "budget",
        "holder",
        "models",
        "shell",
        "fingerprint",
        "units",
    },
    {"kinds", "patterns", "plainjson", "screen", "spelling"},
    {"environment"},
    {"errors"},
    {"exits"},
    {"types"},
    {"record"},
    {"shortage"},
]


def name_of(path: Path) -> str:
    """The room of a module: its top-level name inside the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Modules that are imported at run time; what only a type checker reads does not count."""
    tree = ast.parse(path.read_text())
    found = set()

    def visit(node):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module in ("tokcap", "tokcap.tokens", "tokcap.cut", "tokcap.cli"):
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
            else:
                found.add(node.module)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_library_is_imported_only_in_its_room(path):
    place = str(path.relative_to(PACKAGE))
    for imported in imports_of(path):
        room = ROOMS.get(imported.partition(".")[0])
        assert room is None or place.startswith(room), f"{place} imports {imported}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room = name_of(path)
    if room == "__init__":
        return
    level = next(number for number, layer in enumerate(LAYERS) if room in layer)
    for imported in imports_of(path):
        top, _, rest = imported.partition(".")
        target = rest.partition(".")[0]
        if top != "tokcap" or target in ("", "__version__", room):
            continue
        target_level = next(number for number, layer in enumerate(LAYERS) if target in layer)
        # Steps stand side by side: only the compiler of vocabularies leans on another.
        beside = (room, target) == ("data", "tokens")
        assert target_level > level or beside, f"{room} imports {target}"


def modules_loaded_for(*args: str, stdin: bytes) -> set[str]:
    # Alone, and yet the package that is tested here and no other that is installed.
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r});"
        "from tokcap.__main__ import call; from tokcap.environment import Environment;"
        "call(sys.argv[1:], Environment.of_this_process());"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *args], input=stdin, capture_output=True, check=True, timeout=60
    )
    return set(done.stderr.decode().split())


def test_a_short_output_needs_no_heavy_module():
    loaded = modules_loaded_for("-n", "50", stdin=b"hi\n")
    heavy = {"typer", "rich", "click", "orjson", "tiktoken", "regex", "platformdirs", "sqlite3", "asyncio"}
    heavy |= {"inspect", "typing", "dataclasses", "subprocess", "tomllib", "tempfile", "re", "enum", "json"}
    assert loaded.isdisjoint(heavy)


# All that `echo hi | tokcap -n 50` may load beyond what the interpreter loads for itself. A module more is
# a fraction of a millisecond more for every call there is: think before adding it.
SHORT_CALL = {
    *("__future__", "_bisect", "bisect", "errno", "gc", "itertools"),
    *(
        "tokcap",
        "tokcap.account",
        "tokcap.__main__",
        "tokcap.arguments",
        "tokcap.environment",
        "tokcap.errors",
        "tokcap.exits",
    ),
    *(
        "tokcap.kinds",
        "tokcap.options",
        "tokcap.record",
        "tokcap.shortage",
        "tokcap.types",
        "tokcap.pipeline",
    ),
    *("tokcap.answer", "tokcap.capture", "tokcap.envelope", "tokcap.fitting", "tokcap.keeping"),
    *("tokcap.landmarks", "tokcap.live", "tokcap.mark", "tokcap.places", "tokcap.progress", "tokcap.render"),
    *("tokcap.ways", "tokcap.window", "tokcap.source", "tokcap.source.stdin"),
    *("tokcap.cut", "tokcap.cut.beginning"),
    *("tokcap.tokens", "tokcap.tokens.bpe", "tokcap.tokens.checkpoints", "tokcap.tokens.chunks"),
    *("tokcap.tokens.index", "tokcap.tokens.tokenizer", "tokcap.tokens.vocabulary"),
    "tokcap.private",
}


def test_a_short_call_loads_no_module_beyond_the_list():
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, check=True
    )
    loaded = modules_loaded_for("-n", "50", stdin=b"hi\n") - set(bare.stdout.decode().split())
    assert "tokcap.pipeline" in loaded
    assert loaded - SHORT_CALL == set()


def test_the_wrapper_form_never_loads_typer():
    loaded = modules_loaded_for("-n", "5", "-o", "json", "--", "true", stdin=b"")
    assert loaded.isdisjoint({"typer", "click", "rich", "platformdirs", "requests"})


def test_a_small_document_is_cut_without_the_libraries_for_large_ones():
    loaded = modules_loaded_for("-n", "20", "-o", "json", stdin=b'[{"a": [1, 2, 3]}, "b", null]')
    assert loaded.isdisjoint({"orjson", "json", "re", "enum", "dataclasses", "datetime", "tiktoken"})
    assert "tokcap.cut.values" in loaded


@pytest.mark.parametrize("kind", ["config", "data"])
def test_directories_are_those_that_platformdirs_names(kind, monkeypatch, tmp_path):
    import os

    import platformdirs

    from tokcap.environment import Environment

    variable = f"XDG_{kind.upper()}_HOME"
    for value in (None, "", "  ", str(tmp_path / "elsewhere")):
        if value is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, value)
        env = Environment(os.environ)
        if kind == "config":
            expected = platformdirs.user_config_path("tokcap", appauthor=False) / "config.toml"
            assert Path(env.config_file()) == expected
        else:
            assert Path(env.data_dir()) == platformdirs.user_data_path("tokcap", appauthor=False)
