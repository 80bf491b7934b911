"""Fixtures for all tests: directories of their own, two ways to call tokcap, and no hidden failure."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import time

import pytest

from tests.support import encodings, hidden_failures, tiers
from tests.support.program import PACKAGE, ROOT, run_inside, run_process
from tokcap.steps import rescue

if os.environ.get("TOKCAP_TESTS_INSTALLED"):
    # The built package is to be tested, not the checkout.
    assert ROOT not in PACKAGE.parents or "site-packages" in PACKAGE.parts, f"{PACKAGE} is the checkout"

# Set where everything is installed that a test may need. There, a skipped test is a mistake of the set-up.
NO_SKIP = bool(os.environ.get("TOKCAP_TESTS_NO_SKIP"))
# The coding agents are large, and installed only where this names their directory.
WITHOUT_AGENTS = not os.environ.get("TOKCAP_AGENTS_DIR")

LOADING_VOCABULARIES = (*("test_added.py", "test_calibration.py", "test_sentencepiece.py", "test_fuzz.py"),)

# A shell lets background jobs ignore some signals, and so does nohup. Every child would ignore them too.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# A time zone in which it is noon now. No test that names today's date can then run past midnight.
os.environ["TZ"] = f"NOON{(time.gmtime().tm_hour - 12):+d}"
time.tzset()


def pytest_addoption(parser):
    parser.addoption("--nightly", action="store_true", help="also run the depth of each proof")


def pytest_configure(config):
    tiers.choose_tier(config.option.nightly)
    config.addinivalue_line("markers", "nightly: depth of a proof that an everyday test makes once")
    config.addinivalue_line(
        "markers", "provokes(*codes, always=True): the test makes tokcap report these failures on purpose"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Several workers divide the tests by the groups that `pytest_collection_modifyitems` makes."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadgroup"


def pytest_collection_modifyitems(config, items):
    """Choose the tier. Let one worker run the nightly tests that load vocabularies of models.

    They take a gigabyte. A process of that size forks slowly, and nearly every test starts a command.
    """
    if not config.option.nightly:
        left_out = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
        return
    for item in items:
        if item.path.name in LOADING_VOCABULARIES or " (added)" in item.name:
            item.add_marker(pytest.mark.xdist_group("vocabularies"))


def pytest_collection_finish():
    """Thousands of tests are not garbage, so the collector need not look through them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    may_skip = WITHOUT_AGENTS and "agents" in item.path.parts
    if NO_SKIP and report.skipped and not may_skip:
        report.outcome = "failed"
        report.longrepr = f"skipped although nothing may be missing here: {report.longrepr}"


@pytest.fixture(autouse=True)
def own_world(tmp_path, monkeypatch):
    """Give every test its own home. `untouched_home` finds a test that writes to the user's."""
    # In the system's directory for temporary files, sandboxes may have stored outputs.
    temporary = tmp_path.with_name(f"{tmp_path.name}.temporary")
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tokcap.environment.SYSTEM_TEMPORARY", str(temporary))
    for name in [*os.environ]:
        if name.startswith(("TOKCAP_", "XDG_")):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    # Tests run in the checkout. Python must not find the package there.
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    # As in a new process, nothing is loaded yet.
    monkeypatch.setattr("tokcap.tokens.embedded._opened", {})
    monkeypatch.setattr("tokcap.tokens.embedded.EmbeddedTokenizer._load_byte_pair", encodings.load_once)
    # Most tests are not about the store. Those that are ask for `with_store`.
    monkeypatch.setenv("TOKCAP_SPILL", "never")
    # Most tests are not about the usage log. Those that are ask for `with_account`.
    monkeypatch.setenv("TOKCAP_ACCOUNT", "off")


@pytest.fixture(autouse=True)
def no_hidden_failure(request, monkeypatch):
    """Fail a test in which tokcap reports a failed cut, a failed tokenizer or an internal error.

    `@pytest.mark.provokes(CODE)` allows a code, and requires that it is reported. With `always=False` it only
    allows it.
    """
    hidden_failures.seen.clear()
    make_notice, communicate = rescue.Notice, subprocess.Popen.communicate

    def noted(code, message, *more, **named):
        hidden_failures.look_at(f'"code":"{code}" {message}')
        return make_notice(code, message, *more, **named)

    def looked_at(process, *given, **named):
        outputs = communicate(process, *given, **named)
        hidden_failures.look_at(*outputs)
        return outputs

    # The library and the integrations return no output that a helper reads, so watch the rescue itself.
    monkeypatch.setattr(rescue, "Notice", noted)
    monkeypatch.setattr(subprocess.Popen, "communicate", looked_at)
    yield
    marks = list(request.node.iter_markers("provokes"))
    allowed = {code for mark in marks for code in mark.args}
    hidden = {code: text for code, text in hidden_failures.seen.items() if code not in allowed}
    if hidden:
        pytest.fail("\n".join(f"tokcap reported {code}: {text}" for code, text in hidden.items()))
    required = {code for mark in marks if mark.kwargs.get("always", True) for code in mark.args}
    missing = required - set(hidden_failures.seen)
    if missing:
        pytest.fail(f"marked with `provokes`, but tokcap did not report {sorted(missing)}")


@pytest.fixture
def with_store(monkeypatch, tmp_path):
    """Store hidden output, as tokcap does by default. Return the data directory."""
    monkeypatch.delenv("TOKCAP_SPILL")
    monkeypatch.setenv("TOKCAP_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def with_account(with_store, monkeypatch):
    """Log every call, as tokcap does by default. Return the directory of the usage log."""
    monkeypatch.delenv("TOKCAP_ACCOUNT")
    return with_store / "account"


@pytest.fixture(scope="session", autouse=True)
def untouched_home(tmp_path_factory):
    """Fail the run if a test writes to the home directory that is set outside of tests.

    That is not the user's own home: somebody may use tokcap there while the tests run.
    """
    home = tmp_path_factory.mktemp("untouched-home")
    os.environ["HOME"] = str(home)
    yield
    places = [home / ".config" / "tokcap", home / ".local" / "share" / "tokcap"]
    assert not [place for place in places if place.exists()], "a test has left its own home directory"


@pytest.fixture
def tokcap():
    """Call the program as a process of its own."""
    return run_process


@pytest.fixture
def inside():
    """Call the program in this process, which has its tokenizers loaded already."""

    def run(*args, stdin=b"", env=None):
        return run_inside(args, stdin, {**os.environ, **(env or {})})

    return run
