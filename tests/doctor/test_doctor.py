"""tokcap doctor finds defects, prints what to do in one line each, and changes nothing."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

from tests.support.program import IMPORT_PATH, PACKAGE, PYTHON, SYSTEM_PATH, Ran, checked
from tokcap.cli.options import OPTIONS
from tokcap.doctor import configuration, examination, installation
from tokcap.hooks.base import Installation
from tokcap.hooks.claude_code import CLAUDE_CODE

pytestmark = pytest.mark.usefixtures("with_store")

# Most tests are not about the shells, which answer slowly.
NO_SHELLS = {"PATH": "/nonexistent"}


def report(ran) -> dict[str, list[dict]]:
    """The findings of a run by `group.name`."""
    found = {}
    for check in ran.json["data"]:
        assert check.keys() >= {"group", "name", "status", "message", "remedy"}
        assert check["status"] in ("fact", "note", "wrong")
        assert check["remedy"] or check["status"] != "wrong", check
        assert "\n" not in check["message"] + check["remedy"]
        found.setdefault(f"{check['group']}.{check['name']}", []).append(check)
    assert ran.status == any(check["status"] == "wrong" for check in ran.json["data"])
    return found


def wrong(found) -> set[str]:
    return {name for name, checks in found.items() if any(check["status"] == "wrong" for check in checks)}


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    # Beside another installation of tokcap, `man` would find its pages.
    monkeypatch.setenv("PATH", SYSTEM_PATH)


@pytest.fixture
def examined(inside):
    """What doctor finds, by `group.name`."""

    def run(**variables) -> dict[str, list[dict]]:
        return report(inside("doctor", "-o", "json", env={**NO_SHELLS, **variables}))

    return run


@pytest.fixture
def entries(inside, with_store):
    """A store with three outputs: a plain one, one with two streams, and one that was too long to be kept."""
    inside("-n", "20", "--", "seq", "1000")
    inside("-n", "20", "--", "sh", "-c", "seq 1000; seq 2000 >&2")
    inside("-n", "20", "--max-bytes", "1000", "--", "seq", "3000")
    found = sorted((with_store / "spill").glob("[a-z][a-z]/*"))
    assert len(found) == 3
    return found


def everything_below(*places):
    """All that a file system knows of all files, except when they were read."""
    return {
        path: (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        for place in places
        for path in (place, *place.rglob("*"))
        for found in [path.lstat()]
    }


def broken_check(_env):
    """A check that is added from outside, and fails."""
    yield from ()
    raise RuntimeError("out\nof order")


class TestReport:
    def test_where_nothing_is_wrong_a_few_lines_say_so_and_nothing_is_touched(
        self, tokcap, inside, entries, with_store, tmp_path
    ):
        inside("budget", "start", "x", "--total", "1000")
        inside("--session", "x", "-n", "5", stdin=b"1\n")
        before = everything_below(tmp_path)
        ran = tokcap("doctor")
        lines = ran.out.decode().splitlines()
        assert (ran.status, ran.err, lines[-1]) == (0, b"", "nothing is wrong")
        assert all(line.startswith(("fact   ", "note   ")) for line in lines[:-1])
        assert len(lines) <= 15
        assert f"data: {with_store}, 3 outputs stored, " in ran.out.decode()
        assert b"ledger: 1 session running\n" in ran.out
        assert everything_below(tmp_path) == before

    def test_a_problem_and_its_remedy_are_one_line(self, inside):
        ran = inside("doctor", env={**NO_SHELLS, "TOKCAP_TOKENLIMIT": "5"})
        assert ran.status == 1
        *_, problem, last = ran.out.decode().splitlines()
        assert problem == (
            "wrong  TOKCAP_TOKENLIMIT: has no effect; did you mean TOKCAP_TOKEN_LIMIT?;"
            " do: unset TOKCAP_TOKENLIMIT; export TOKCAP_TOKEN_LIMIT=5"
        )
        assert last == "1 thing is wrong"

    def test_a_check_that_fails_is_a_finding_and_the_others_still_run(self, inside, monkeypatch):
        monkeypatch.setitem(examination.CHECKS._places, "broken", f"{__name__}:broken_check")
        ran = inside("doctor", env={**NO_SHELLS, "TOKCAP_KEEP": "tail"})
        assert ran.status == 1
        lines = ran.out.decode().splitlines()
        failed = "wrong  broken: this check failed: RuntimeError: out\\x0aof order; do: tokcap --version, and"
        assert lines[-2].startswith(failed)
        assert "fact   keep: tail (TOKCAP_KEEP)" in lines

    def test_it_works_in_a_directory_that_no_longer_exists(self, tmp_path):
        gone = tmp_path / "gone"
        script = f'mkdir {gone}; cd {gone}; rmdir {gone}; PATH= "$0" -m tokcap doctor -o json'
        world = {**os.environ, "PYTHONPATH": IMPORT_PATH, "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            ["sh", "-c", script, sys.executable], env=world, capture_output=True, timeout=60, check=False
        )
        assert not wrong(report(checked(("-o", "json"), Ran(done.returncode, done.stdout, done.stderr))))


class TestInstallation:
    def test_a_package_without_compiled_code_is_noted_with_what_to_do(self, examined, monkeypatch):
        assert "installation.compiled" not in examined()
        monkeypatch.setattr(installation, "is_compiled", lambda: False)
        (found,) = examined()["installation.compiled"]
        assert (found["status"], "built without a C compiler" in found["message"]) == ("note", True)
        assert " install " in found["remedy"]


class TestStore:
    def test_every_defect_is_found_and_what_it_says_to_do_mends_it(
        self, examined, inside, entries, with_store, tmp_path
    ):
        inside("-n", "20", "--", "seq", "1", "4000")
        spill = with_store / "spill"
        (fourth,) = set(spill.glob("[a-z][a-z]/*")) - set(entries)
        unrecorded, changed, shorter = entries
        (unrecorded / "record.json").unlink()
        data = bytearray((changed / "out").read_bytes())
        data[7] ^= 1
        (changed / "out").write_bytes(data)
        (shorter / "out").write_bytes(b"1\n")
        fourth.chmod(0o755)
        (fourth / "out").chmod(0o644)
        (fourth / "elsewhere").symlink_to("/etc")
        (spill / "zz it's").symlink_to("/nowhere")
        before = everything_below(with_store)
        found = examined()
        assert everything_below(with_store) == before
        assert wrong(found) == {"store.outputs", "store.links", "store.permissions"}
        messages = {name: checks[0]["message"] for name, checks in found.items()}
        assert f"{unrecorded.name}: its record.json is missing or damaged" in messages["store.outputs"]
        assert f"{changed.name} was changed since it was stored" in messages["store.outputs"]
        assert f"out of {shorter.name} is damaged: it has 2 bytes" in messages["store.outputs"]
        assert f"spill/{fourth.parent.name}/{fourth.name}/out" in messages["store.permissions"]

        program = tmp_path / "tokcap"
        program.write_text(f'#!/bin/sh\nexec {PYTHON} -m tokcap "$@"\n')
        program.chmod(0o755)
        world = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        for name in wrong(found):
            for check in found[name]:
                command = ["sh", "-c", check["remedy"]]
                subprocess.run(command, check=True, capture_output=True, env=world, timeout=60)
        assert not wrong(examined())
        assert [path.name for path in spill.glob("[a-z][a-z]/*")] == [fourth.name]

    def test_a_directory_that_cannot_be_written_is_reported(self, with_store, tmp_path):
        with_store.mkdir(mode=0o500)
        (tmp_path / "home").chmod(0o500)
        try:
            for place, message in (
                (with_store, "nothing can be stored"),
                (tmp_path / "home" / "x", "cannot be created"),
            ):
                world = {**os.environ, **NO_SHELLS, "TOKCAP_DATA_DIR": str(place)}
                command = [sys.executable, "-m", "tokcap", "doctor", "-o", "json"]
                if os.geteuid() == 0:
                    # Root may write everywhere, unless it gives that up.
                    command = [shutil.which("setpriv"), "--bounding-set=-dac_override", *command]
                done = subprocess.run(command, env=world, capture_output=True, timeout=60, check=False)
                found = report(checked(command, Ran(done.returncode, done.stdout, done.stderr)))
                assert message in found["store.data"][0]["message"]
                assert wrong(found) == {"store.data"}
        finally:
            (tmp_path / "home").chmod(0o700)

    def test_a_directory_that_others_can_write_is_reported(self, examined, with_store):
        with_store.mkdir(mode=0o777)
        with_store.chmod(0o777)
        (found,) = [one for one in examined()["store.data"] if one["status"] == "wrong"]
        assert (found["message"], found["remedy"]) == (
            f"others can create files in {with_store}",
            f"chmod go-w {with_store}",
        )


class TestLedger:
    @pytest.fixture
    def ledger(self, inside, with_store):
        inside("budget", "start", "x", "--total", "1000")
        return with_store / "ledger.db"

    @pytest.mark.parametrize("damage", ["garbage", "half", "newer", "link"])
    def test_a_ledger_that_cannot_be_used_is_reported(self, examined, ledger, tmp_path, damage):
        data = ledger.read_bytes()
        if damage == "newer":
            with sqlite3.connect(ledger) as database:
                database.execute("UPDATE rows SET value = '{\"version\":99}' WHERE key = 'meta'")
            database.close()
        elif damage == "link":
            shutil.move(ledger, tmp_path / "elsewhere")
            ledger.symlink_to(tmp_path / "elsewhere")
        else:
            ledger.write_bytes({"garbage": b"garbage" * 3000, "half": data[: len(data) // 2 + 7]}[damage])
        before = everything_below(ledger.parent)
        found = examined()
        assert wrong(found) == {"ledger.ledger"}
        assert everything_below(ledger.parent) == before

    def test_a_session_that_every_call_would_charge_has_to_be_there(self, examined, ledger):
        assert not wrong(examined(TOKCAP_SESSION="x"))
        found = examined(TOKCAP_SESSION="y")
        assert wrong(found) == {"ledger.session"}
        assert found["ledger.session"][0]["remedy"].startswith("tokcap budget start y ")


class TestConfiguration:
    def test_every_setting_that_is_set_is_there_with_its_value_and_its_source(self, examined, tmp_path):
        config = tmp_path / "config.toml"
        config.write_text("# mine\nkeep = 'tail'\nmodel = 'gpt-4o-mini'\n\n[budget]\nfloor_tokens = 7\n")
        found = examined(TOKCAP_CONFIG=str(config), TOKCAP_TOKEN_LIMIT="500", TOKCAP_KEEP="ends")
        sources = {
            "keep": ("ends", "TOKCAP_KEEP"),
            "token_limit": (500, "TOKCAP_TOKEN_LIMIT"),
            "model": ("gpt-4o-mini", str(config)),
            "floor_tokens": (7, str(config)),
            "tokenizer": ("o200k_base", "model gpt-4o-mini"),
            "context_window": (128_000, "model gpt-4o-mini"),
            # As all tests have it.
            "account": (False, "TOKCAP_ACCOUNT"),
        }
        for option in OPTIONS:
            checks = found.get(f"configuration.{option.key}", [])
            assert [(check["value"], check["source"]) for check in checks] == (
                [sources[option.key]] if option.key in sources else []
            )
        assert not wrong(found)

    @pytest.mark.parametrize(
        ("text", "messages"),
        [
            (
                "keep = 'tail'\nalgin = 1\n\nclean = 7",
                [": unknown key 'algin'; did you mean align?", ": clean: 7 is"],
            ),
            ("keep = 'tail'\nkeep = [", [":2: "]),
            ("keep = '\xff'".encode("latin-1"), [":1: is not UTF-8"]),
        ],
    )
    def test_every_error_in_the_file_is_reported(self, examined, tmp_path, text, messages):
        config = tmp_path / "config.toml"
        config.write_bytes(text if isinstance(text, bytes) else text.encode())
        found = examined(TOKCAP_CONFIG=str(config))
        assert wrong(found) == {"configuration.file"}
        for check, message in zip(found["configuration.file"], messages, strict=True):
            assert check["message"].startswith(f"{config}{message}")
            assert check["remedy"] == f'"${{EDITOR:-vi}}" {config}'

    @pytest.mark.parametrize(
        ("variables", "name", "remedy"),
        [
            ({"TOKCAP_KEEP": "middle"}, "keep", "unset TOKCAP_KEEP"),
            ({"TOKCAP_CONFIG": "/nowhere/config.toml"}, "file", "unset TOKCAP_CONFIG"),
            ({"TOKCAP_TOKENIZER": "nope"}, "tokenizer", "unset TOKCAP_TOKENIZER"),
            ({"TOKCAP_MODEL": "nope"}, "model", "unset TOKCAP_MODEL"),
        ],
    )
    def test_a_bad_variable_is_reported(self, examined, variables, name, remedy):
        found = examined(**variables)
        assert wrong(found) == {f"configuration.{name}"}
        assert remedy in [check["remedy"] for check in found[f"configuration.{name}"]]

    @pytest.mark.parametrize(
        ("name", "status", "meant"),
        [
            ("TOKCAP_TOKENLIMIT", "wrong", "TOKCAP_TOKEN_LIMIT"),
            ("TOKCAP_GREP", "wrong", "--grep"),
            ("TOKCAP_XYZZY", "note", "not a variable of tokcap"),
        ],
    )
    def test_a_misspelt_variable_is_reported_with_the_right_spelling(self, examined, name, status, meant):
        (check,) = examined(**{name: "it's"})[f"configuration.{name}"]
        assert check["status"] == status
        assert meant in check["message"]
        assert f"unset {name}" in check["remedy"]

    def test_every_variable_that_the_program_reads_is_known(self):
        named = set()
        for path in PACKAGE.rglob("*.py"):
            named |= set(re.findall(r"\bTOKCAP_[A-Z_]*[A-Z]\b", path.read_text()))
        assert named <= set(configuration.KNOWN)


class TestAgents:
    def test_a_hook_that_calls_a_program_that_does_not_exist_is_reported(self, examined, tmp_path):
        settings = tmp_path / "home" / ".claude" / "settings.json"
        settings.parent.mkdir()
        assert "tokcap hook install claude-code" in examined()["agents.claude-code"][0]["message"]
        program = tmp_path / "bin" / "tokcap"
        CLAUDE_CODE.install(str(settings), Installation(str(program), ("--token-limit", "500")))
        for status in ("wrong", "fact"):
            check = examined()["agents.claude-code"][0]
            assert check["status"] == status
            again = "tokcap hook install claude-code --token-limit 500"
            assert check["remedy"] == (again if status == "wrong" else "")
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
        settings.write_text("{")
        assert examined()["agents.claude-code"][0]["status"] == "note"
