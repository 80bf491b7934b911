"""The fast importer loads the program's modules exactly as Python would, only with fewer system calls."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
from importlib.util import cache_from_source

import pytest

from tests.support.program import PACKAGE
from tests.support.tiers import as_nightly
from tokcap.lean.own_modules import PACKAGES

FROM_SOURCE = 'FROM = "source"\n'
# As long as the other, so that only the time of the file tells that it is newer.
CHANGED = 'FROM = "change"\n'
PRINT_FROM = "import tokcap.extra; print(tokcap.extra.FROM)"


class Copy:
    """A copy of the package without bytecode, and with a module and a package of the test in it."""

    def __init__(self, directory) -> None:
        self.directory = directory
        self.extra = directory / "tokcap" / "extra.py"
        self.extra.write_text(FROM_SOURCE)
        self.cached = directory / os.path.relpath(cache_from_source(str(self.extra)), directory)
        inner = directory / "tokcap" / "more" / "inner.py"
        inner.parent.mkdir()
        (inner.parent / "__init__.py").write_text("import tokcap.more.inner\n")
        inner.write_text('def fail():\n    raise LookupError("on line two")\n')

    def run(self, code: str, *flags: str, **variables: str):
        """Run code after the program's own imports, in which the importer is installed."""
        return subprocess.run(
            [sys.executable, *flags, "-c", f"import tokcap.__main__\n{code}"],
            env={"PYTHONPATH": str(self.directory), "PATH": os.environ["PATH"], **variables},
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def prints(self, code: str, *flags: str, **variables: str) -> str:
        done = self.run(code, *flags, **variables)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    def write_cached(self, source: str, **options) -> None:
        """Write bytecode of another source, with a header that belongs to the file."""
        before = self.extra.stat()
        self.extra.write_text(source)
        os.utime(self.extra, ns=(before.st_atime_ns, before.st_mtime_ns))
        py_compile.compile(str(self.extra), cfile=str(self.cached), doraise=True, **options)
        self.extra.write_text(FROM_SOURCE)
        os.utime(self.extra, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Return a copy of the package without bytecode."""
    directory = tmp_path_factory.mktemp("sources") / "tokcap"
    return shutil.copytree(PACKAGE, directory, ignore=shutil.ignore_patterns("__pycache__"))


@pytest.fixture
def copy(sources, tmp_path):
    directory = tmp_path / "copy"
    # Links: no test changes a file that is there already.
    shutil.copytree(sources, directory / "tokcap", copy_function=os.link)
    return Copy(directory)


def test_it_knows_all_packages():
    found = {file.parent.relative_to(PACKAGE) for file in PACKAGE.rglob("__init__.py")}
    assert sorted(PACKAGES.split()) == sorted(".".join(path.parts) for path in found if path.parts)


def test_the_program_loads_its_modules_with_it(copy):
    code = "import sys; print(type(sys.modules['tokcap.pipeline'].__loader__).__name__)"
    assert copy.prints(f"import tokcap.pipeline; {code}") == "CachedModule"


def test_cached_bytecode_that_belongs_to_the_source_is_used(copy):
    copy.write_cached(CHANGED)
    assert copy.prints(PRINT_FROM) == "change"


def test_bytecode_that_is_older_than_the_source_is_replaced(copy):
    copy.write_cached(CHANGED)
    os.utime(copy.extra, (2_000_000_000, 2_000_000_000))
    stale = copy.cached.read_bytes()
    assert copy.prints(PRINT_FROM) == "source"
    assert copy.cached.read_bytes() != stale
    assert copy.prints(PRINT_FROM) == "source"


def test_bytecode_of_a_source_of_another_size_is_replaced(copy):
    copy.write_cached(CHANGED)
    modified = copy.extra.stat().st_mtime_ns
    copy.extra.write_text('FROM = "a longer source"\n')
    os.utime(copy.extra, ns=(modified, modified))
    assert copy.prints(PRINT_FROM) == "a longer source"


@pytest.mark.parametrize("data", [b"short", *map(as_nightly, [b"", b"\0" * 400])], ids=len)
def test_a_file_without_the_right_header_is_replaced(copy, data):
    copy.write_cached(CHANGED)
    copy.cached.write_bytes(data)
    assert copy.prints(PRINT_FROM) == "source"
    assert len(copy.cached.read_bytes()) > 16


def test_bytecode_of_another_python_is_replaced(copy):
    copy.write_cached(CHANGED)
    copy.cached.write_bytes(b"\0\0\r\n" + copy.cached.read_bytes()[4:])
    assert copy.prints(PRINT_FROM) == "source"


@pytest.mark.parametrize(("mode", "printed"), [("UNCHECKED_HASH", "change"), ("CHECKED_HASH", "source")])
def test_bytecode_with_a_hash_is_left_to_python(copy, mode, printed):
    copy.write_cached(CHANGED, invalidation_mode=py_compile.PycInvalidationMode[mode])
    assert copy.prints(PRINT_FROM) == printed


def test_without_a_cache_modules_are_compiled_and_cached(copy):
    assert not copy.cached.exists()
    assert copy.prints(PRINT_FROM) == "source"
    assert copy.cached.exists()
    assert (copy.directory / "tokcap" / "cli" / "__pycache__").is_dir()


@pytest.mark.parametrize(("flags", "variables"), [((), {"PYTHONDONTWRITEBYTECODE": "1"}), (("-B",), {})])
def test_no_bytecode_is_written_if_python_is_told_not_to(copy, flags, variables):
    assert copy.prints(PRINT_FROM, *flags, **variables) == "source"
    assert [*copy.directory.rglob("__pycache__")] == []


def test_bytecode_is_read_even_if_none_is_written(copy):
    copy.write_cached(CHANGED)
    assert copy.prints(PRINT_FROM, PYTHONDONTWRITEBYTECODE="1") == "change"


@pytest.mark.parametrize("flag", ["-O", "-OO"])
def test_optimized_bytecode_is_left_to_python(copy, flag):
    copy.write_cached(CHANGED)
    code = f"{PRINT_FROM}; import sys; print(any('own_modules' in repr(one) for one in sys.meta_path))"
    assert copy.prints(code, flag).split() == ["source", "False"]


def test_bytecode_in_another_directory_is_left_to_python(copy, tmp_path):
    assert copy.prints(PRINT_FROM, PYTHONPYCACHEPREFIX=str(tmp_path / "elsewhere")) == "source"
    assert [*copy.directory.rglob("__pycache__")] == []
    assert [*(tmp_path / "elsewhere").rglob("extra.*.pyc")]


PRINT_PLACES = """
import tokcap.extra, tokcap.more.inner
more = tokcap.more
print(more.__name__, more.__package__, *more.__path__, more.__file__, sep="\\n")
print(more.inner.__name__, more.inner.__package__, tokcap.extra.__package__, sep="\\n")
"""


def test_packages_and_the_modules_in_them_are_found(copy):
    package = copy.directory / "tokcap" / "more"
    assert copy.prints(PRINT_PLACES).splitlines() == [
        *("tokcap.more", "tokcap.more", str(package), str(package / "__init__.py")),
        *("tokcap.more.inner", "tokcap.more", "tokcap"),
    ]


PRINT_DIFFERENCES = """
from importlib.machinery import PathFinder
import tokcap.more.inner
for name, path in (("tokcap.more", tokcap.__path__), ("tokcap.more.inner", tokcap.more.__path__)):
    spec = __import__("sys").modules[name].__spec__
    usual = PathFinder.find_spec(name, path)
    for field in ("name", "origin", "parent", "has_location", "cached", "submodule_search_locations"):
        if getattr(spec, field) != getattr(usual, field):
            print(name, field, getattr(spec, field), getattr(usual, field))
    assert spec.loader.get_source(name) == usual.loader.get_source(name)
"""


def test_a_module_is_described_as_python_describes_it(copy):
    assert copy.prints(PRINT_DIFFERENCES) == ""


@pytest.mark.parametrize("name", ["tokcap.nothing", "tokcap.more.nothing", "tokcap.nothing.inner"])
def test_a_module_that_does_not_exist_is_the_ordinary_error(copy, name):
    missing = "tokcap.nothing" if name == "tokcap.nothing.inner" else name
    code = f"try: import {name}\nexcept ModuleNotFoundError as error: print(error, error.name, sep='|')"
    assert copy.prints(code) == f"No module named '{missing}'|{missing}"


def test_other_packages_are_left_to_python(copy):
    (copy.directory / "tokcap_extra.py").write_text("")
    code = "import tokcap_extra, colorsys; print(type(tokcap_extra.__loader__).__name__)"
    assert copy.prints(code) == "SourceFileLoader"


def test_a_traceback_names_the_file_and_shows_the_line(copy):
    path = copy.directory / "tokcap" / "more" / "inner.py"
    # The first run compiles the module, the second reads its bytecode.
    for _ in range(2):
        done = copy.run("import tokcap.more; tokcap.more.inner.fail()")
        assert f'File "{path}", line 2, in fail\n    raise LookupError("on line two")' in done.stderr


def test_a_traceback_names_the_file_where_it_is_now(copy, tmp_path):
    copy.prints("import tokcap.more")
    moved = tmp_path / "moved"
    copy.directory.rename(moved)
    copy.directory = moved
    done = copy.run("import tokcap.more; tokcap.more.inner.fail()", PYTHONDONTWRITEBYTECODE="1")
    assert f'File "{moved}/tokcap/more/inner.py", line 2, in fail' in done.stderr
