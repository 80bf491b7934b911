"""The world of the tests: their own directories, a reference tokenizer, and two ways to call tokcap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
import tiktoken
import tiktoken_ext.openai_public

import tokcap
from tokcap.__main__ import call
from tokcap.environment import Environment
from tokcap.tokens import vocabulary

ROOT = Path(__file__).parent.parent
# What is tested is what is installed, be it this checkout or a wheel that was built from it.
PACKAGE = Path(tokcap.__file__).parent
IMPORT_PATH = os.pathsep.join((str(PACKAGE.parent), str(ROOT)))
SCHEMA = json.loads((ROOT / "tests" / "envelope.schema.json").read_text())
ENCODINGS = ("cl100k_base", "o200k_base")

if os.environ.get("TOKCAP_TESTS_INSTALLED"):
    # Where the built package is meant to be tested, the checkout must not be.
    assert ROOT not in PACKAGE.parents or "site-packages" in PACKAGE.parts, f"{PACKAGE} is the checkout"

# Where everything is installed that a test may need, a skipped test is a mistake of the set-up.
NO_SKIP = bool(os.environ.get("TOKCAP_TESTS_NO_SKIP"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if NO_SKIP and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped although nothing may be missing here: {report.longrepr}"


@pytest.fixture(autouse=True)
def own_world(tmp_path, monkeypatch):
    """Every test has its own home. One that writes to the user's is found out by `untouched_home`."""
    for name in [*os.environ]:
        if name.startswith(("TOKCAP_", "XDG_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    # The checkout, in which tests run, is not where Python finds the package.
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    # As in a new process, nothing is loaded yet.
    monkeypatch.setattr("tokcap.tokens.embedded._opened", {})
    # Tests of windows are about windows. Those of the store ask for `with_store`.
    monkeypatch.setenv("TOKCAP_SPILL", "never")
    # Nor are they about the account; see `test_account`.
    monkeypatch.setenv("TOKCAP_ACCOUNT", "off")


@pytest.fixture
def with_store(monkeypatch, tmp_path):
    """The default: what is withheld is stored. Gives the data directory."""
    monkeypatch.delenv("TOKCAP_SPILL")
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def with_account(with_store, monkeypatch):
    """The default: calls are written down. Gives the directory of the account."""
    monkeypatch.delenv("TOKCAP_ACCOUNT")
    return with_store / "account"


@pytest.fixture(scope="session", autouse=True)
def untouched_home():
    """Fails the run if something of tokcap's appears in the real home directory."""
    places = [Path.home() / ".config" / "tokcap", Path.home() / ".local" / "share" / "tokcap"]
    before = [place.exists() for place in places]
    yield
    assert [place.exists() for place in places] == before, "a test has touched the user's home directory"


_references: dict[str, tiktoken.Encoding] = {}


def reference(name: str) -> tiktoken.Encoding:
    """tiktoken's own encoding, built by tiktoken's own code from the embedded table."""
    if name not in _references:
        with pytest.MonkeyPatch.context() as patch:
            ranks = vocabulary.load(name).ranks()
            patch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_args, **_named: ranks)
            _references[name] = tiktoken.Encoding(**getattr(tiktoken_ext.openai_public, name)())
    return _references[name]


def recount(data: bytes, name: str = "cl100k_base") -> int:
    """What tiktoken says a text costs. Long runs of blanks, which it cannot bear, are not given to it."""
    return len(reference(name).encode_ordinary(data.decode("utf-8", "replace")))


@dataclass(frozen=True)
class Ran:
    status: int
    out: bytes
    err: bytes

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def data_text(self) -> bytes:
        """The value of `data` exactly as it is written."""
        return self.out[self.out.index(b'"data":') + 7 : self.out.rindex(b',"error":')]


def checked(args, ran: Ran) -> Ran:
    """Every JSON response in the suite is held against the schema."""
    wants_json = ("--output=json" in args) or (
        "json" in args and args[args.index("json") - 1] in ("-o", "--output")
    )
    if wants_json and ran.out:
        envelope = json.loads(ran.out)
        jsonschema.validate(envelope, SCHEMA)
        assert list(envelope) == ["ok", "data", "error", "warnings", "meta"]
        assert envelope["ok"] == (ran.status == 0)
    assert b"Traceback" not in ran.err
    return ran


@pytest.fixture
def tokcap():
    """Call the program as a process of its own."""

    def run(*args, stdin=b"", env=None, **options) -> Ran:
        world = {**os.environ, **(env or {})}
        done = subprocess.run(
            [sys.executable, "-m", "tokcap", *args],
            input=stdin,
            capture_output=True,
            env=world,
            timeout=120,
            check=False,
            **options,
        )
        return checked(args, Ran(done.returncode, done.stdout, done.stderr))

    return run


@pytest.fixture
def inside():
    """Call the program in this process, which has its tokenizers loaded already."""

    def run(*args, stdin=b"", env=None) -> Ran:
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            world = Environment({**os.environ, **(env or {})}, given.fileno(), out.fileno(), err.fileno())
            status = call(args, world)
            out.seek(0)
            err.seek(0)
            return checked(args, Ran(status, out.read(), err.read()))

    return run
