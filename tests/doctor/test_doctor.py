"""tokcap doctor finds defects, prints what to do, and changes nothing."""

import functools
import json
import os
import re
import shlex
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
import types
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import usage_log as usage_logs
from tests.support.program import IMPORT_PATH, PACKAGE, PYTHON, SYSTEM_PATH, Ran, checked
from tests.support.terminal import report_on_a_terminal
from tests.support.tiers import as_nightly
from tests.support.vocabularies import PUBLISHED
from tokcap.cli.completions.targets import TARGETS
from tokcap.cli.options import OPTIONS
from tokcap.doctor import examination, packages, variables, vocabularies
from tokcap.doctor.finding import Finding
from tokcap.doctor.report import finding_lines
from tokcap.environment import Environment
from tokcap.hooks.base import Installation
from tokcap.hooks.claude_code import CLAUDE_CODE
from tokcap.system.quoting import quoted
from tokcap.system.screen import Screen
from tokcap.tokens import embedded, native_text

pytestmark = pytest.mark.usefixtures("with_store")

LONG_AGO = time.time() - 40 * 86400


def report(ran) -> dict[str, list[dict]]:
    """The findings of a run by `group.name`."""
    found = {}
    for check in ran.json["data"]:
        assert check.keys() >= {"group", "name", "status", "message", "remedy"}
        assert check["status"] in ("ok", "note", "wrong")
        assert check["remedy"] or check["status"] != "wrong", check
        assert "\n" not in check["message"] + check["remedy"]
        found.setdefault(f"{check['group']}.{check['name']}", []).append(check)
    assert ran.status == any(check["status"] == "wrong" for check in ran.json["data"])
    return found


def wrong(found) -> set[str]:
    return {name for name, checks in found.items() if any(check["status"] == "wrong" for check in checks)}


# Checked once for all tests inside this process; processes of their own check theirs.
checked_once = {
    name: functools.cache(getattr(vocabularies, name)) for name in ("check_table", "check_patterns")
}
known_version = functools.cache(metadata.version)
# Most tests are not about the shells, which answer slowly.
NO_SHELLS = {"PATH": "/nonexistent"}


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    # Beside another installation of tokcap, `man` would find its pages.
    monkeypatch.setenv("PATH", SYSTEM_PATH)


@pytest.fixture
def path_of(tmp_path):
    """A path with one program on it. Skip if it is not installed."""

    def make(name):
        if not shutil.which(name):
            pytest.skip(f"{name} is not installed")
        place = tmp_path / "only"
        place.mkdir()
        for program in (name, "sh"):
            (place / program).symlink_to(shutil.which(program))
        return str(place)

    return make


@pytest.fixture(autouse=True)
def known_packages_and_vocabularies(monkeypatch):
    for name, check in checked_once.items():
        monkeypatch.setattr(vocabularies, name, check)
    monkeypatch.setattr(metadata, "version", known_version)


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
    """All that a file system knows of all files, but for when they were read."""
    return {
        path: (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        for place in places
        for path in (place, *place.rglob("*"))
        for found in [path.lstat()]
    }


class TestHealthy:
    def test_where_nothing_is_wrong_it_says_so_and_touches_nothing(
        self, tokcap, inside, entries, with_store, tmp_path
    ):
        inside("budget", "start", "x", "--total", "1000")
        inside("--session", "x", "-n", "5", stdin=b"1\n")
        before = everything_below(tmp_path)
        ran = tokcap("doctor")
        assert ran.status == 0
        assert re.fullmatch(r"nothing is wrong(; \d+ notes?)?", ran.out.decode().splitlines()[-1])
        assert b"\x1b" not in ran.out
        assert b"digests      compared and equal: 3\n" in ran.out
        assert b"sessions      1 running, 0 ended\n" in ran.out
        assert ran.err == b""
        assert everything_below(tmp_path) == before

    def test_a_package_without_compiled_code_is_noted_with_what_to_do(self, examined, monkeypatch):
        assert examined()["versions.compiled"][0]["message"] == "small texts are counted by compiled code"
        monkeypatch.setattr(native_text, "native_encoder", lambda _name: None)
        (found,) = examined()["versions.compiled"]
        assert (found["status"], "built without a C compiler" in found["message"]) == ("note", True)
        assert " install " in found["remedy"]

    def test_before_anything_was_ever_stored(self, examined, tmp_path):
        before = everything_below(tmp_path)
        found = examined()
        assert not wrong(found)
        assert "created when something is first stored" in found["data.place"][0]["message"]
        assert everything_below(tmp_path) == before

    def test_each_line_of_jsonl_is_a_check_and_the_last_one_has_the_meta(self, inside):
        lines = [json.loads(line) for line in inside("doctor", "-o", "jsonl", env=NO_SHELLS).out.splitlines()]
        assert lines[-1].keys() == {"meta"}
        assert {line["group"] for line in lines[:-1]} == {check.group for check in examination.CHECKS}

    def test_every_setting_is_there_with_its_value_and_its_source(self, examined, tmp_path):
        config = tmp_path / "config.toml"
        config.write_text("# mine\nkeep = 'tail'\nmodel = 'gpt-4o-mini'\n\n[budget]\nfloor_tokens = 7\n")
        found = examined(TOKCAP_CONFIG=str(config), TOKCAP_TOKEN_LIMIT="500", TOKCAP_KEEP="ends")
        sources = {
            "keep": ("ends", "TOKCAP_KEEP"),
            "token_limit": (500, "TOKCAP_TOKEN_LIMIT"),
            "model": ("gpt-4o-mini", f"{config}:3"),
            "floor_tokens": (7, f"{config}:6"),
            "tokenizer": ("o200k_base", "model gpt-4o-mini"),
            "context_window": (128_000, "model gpt-4o-mini"),
            # As all tests have it.
            "account": (False, "TOKCAP_ACCOUNT"),
        }
        for option in OPTIONS:
            if option.ambient:
                (check,) = found[f"configuration.{option.key}"]
                expected = sources.get(option.key, (option.default, "default"))
                assert (check["value"], check["source"]) == expected
        assert not wrong(found)


class TestVocabularies:
    def test_a_package_that_is_damaged_is_reported(self, tmp_path):
        copy = tmp_path / "copy"
        shutil.copytree(PACKAGE, copy / "tokcap", ignore=shutil.ignore_patterns("__pycache__"))
        data = copy / "tokcap" / "tokens" / "data"
        for name in ("cl100k_base.vocab", "o200k_base.buckets"):
            (data / name).write_bytes((data / name).read_bytes()[:-1000])
        (data / "o200k_base.vocab").write_bytes(b"nothing")
        (copy / "tokcap" / "lean" / "patterns.ready").unlink()
        done = subprocess.run(
            [sys.executable, "-m", "tokcap", "doctor", "-o", "json"],
            cwd=copy,
            env={**os.environ, **NO_SHELLS, "PYTHONPATH": str(copy)},
            capture_output=True,
            timeout=60,
            check=False,
        )
        ran = checked(("-o", "json"), Ran(done.returncode, done.stdout, done.stderr))
        damaged = ("cl100k_base.vocab", "o200k_base.buckets", "o200k_base.vocab", "patterns.ready")
        found = report(ran)
        assert wrong(found) == {f"vocabularies.{name}" for name in damaged}
        assert "pip install --force-reinstall" in found["vocabularies.cl100k_base.vocab"][0]["remedy"]

    def test_the_digests_are_those_that_were_published(self):
        assert {name: sha256 for name, (_, sha256) in PUBLISHED.items()} == vocabularies.TABLES
        assert set(vocabularies.BUCKETS) == set(embedded.NAMES)


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
        draft = spill / ".new-0123456789abcdef"
        draft.mkdir(0o700)
        (draft / "out").write_bytes(b"1\n")
        (draft / "out").chmod(0o600)
        os.utime(draft, (LONG_AGO, LONG_AGO))
        old = spill / "ac" / "acid917365018"
        shutil.copytree(fourth, old, symlinks=True)
        (old / "elsewhere").unlink()
        for path in (old / "out", old):
            os.utime(path, (LONG_AGO, LONG_AGO))
        before = everything_below(with_store)
        found = examined()
        assert everything_below(with_store) == before
        assert wrong(found) == {
            f"store.{name}"
            for name in ("records", "outputs", "digests", "limits", "left over", "links", "permissions")
        }
        messages = {name: checks[0]["message"] for name, checks in found.items()}
        assert unrecorded.name in messages["store.records"]
        assert changed.name in messages["store.digests"]
        assert f"out of {shorter.name} is damaged: it has 2 bytes" in messages["store.outputs"]
        assert f"spill/{fourth.parent.name}/{fourth.name}/out" in messages["store.permissions"]
        assert "1 output" in messages["store.limits"]
        assert draft.name in messages["store.left over"]

        program = tmp_path / "tokcap"
        program.write_text(f'#!/bin/sh\nexec {PYTHON} -m tokcap "$@"\n')
        program.chmod(0o755)
        world = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        for remedy in dict.fromkeys(
            checks[0]["remedy"] for name, checks in found.items() if name in wrong(found)
        ):
            subprocess.run(["sh", "-c", remedy], check=True, capture_output=True, env=world, timeout=60)
        assert not wrong(examined())
        assert [path.name for path in spill.glob("[a-z][a-z]/*")] == [fourth.name]

    def test_too_much_is_wrong_only_if_something_of_it_could_go(self, examined, entries):
        found = examined(TOKCAP_SPILL_TOTAL="2K")
        assert found["store.limits"][0]["status"] == "note"
        for path in (entries[0] / "out", entries[0]):
            os.utime(path, (time.time() - 7200,) * 2)
        found = examined(TOKCAP_SPILL_TOTAL="2K")
        assert (found["store.limits"][0]["status"], found["store.limits"][0]["remedy"]) == (
            "wrong",
            "tokcap spill gc",
        )

    def test_no_more_is_read_than_was_promised(self, examined, entries, monkeypatch):
        monkeypatch.setattr("tokcap.doctor.stored.COMPARED_BYTES", 5000)
        message = examined()["store.digests"][0]["message"]
        assert re.fullmatch(r"compared and equal: [12] of 3: at most 4\.9K are read", message)

    def test_a_draft_that_is_being_written_is_no_left_over(self, examined, with_store):
        from tokcap.store.local import LocalStore

        draft = LocalStore(str(with_store)).draft()
        os.utime(draft.make_directory(), (LONG_AGO, LONG_AGO))
        assert not wrong(examined())
        draft.close()

    def test_a_store_of_another_owner_or_behind_a_link_is_not_used(
        self, examined, entries, with_store, tmp_path
    ):
        link = tmp_path / "link"
        link.symlink_to(with_store)
        found = examined(TOKCAP_DATA_DIR=str(link))
        assert wrong(found) == {"data.place", "store.entries"}
        assert found["data.place"][0]["remedy"] == f"export TOKCAP_DATA_DIR={with_store}"
        if os.geteuid() == 0:
            os.chown(entries[0] / "out", 65534, 65534)
            assert "store.owner" in wrong(examined())


class TestLedger:
    @pytest.fixture
    def ledger(self, inside, with_store):
        inside("budget", "start", "x", "--total", "1000")
        return with_store / "ledger.db"

    @pytest.mark.parametrize("damage", ["garbage", "half", "empty", "newer", "other", "open", "link"])
    def test_a_ledger_that_cannot_be_used_is_reported(self, examined, ledger, tmp_path, damage):
        data = ledger.read_bytes()
        if damage in ("newer", "other"):
            with sqlite3.connect(ledger) as database:
                database.execute(f"PRAGMA user_version = {99 if damage == 'newer' else 0}")
            database.close()
        elif damage == "open":
            ledger.chmod(0o644)
        elif damage == "link":
            shutil.move(ledger, tmp_path / "elsewhere")
            ledger.symlink_to(tmp_path / "elsewhere")
        else:
            changed = {"garbage": b"garbage" * 3000, "half": data[: len(data) // 2 + 7], "empty": b""}
            ledger.write_bytes(changed[damage])
        before = everything_below(ledger.parent)
        found = examined()
        assert wrong(found) == {"ledger.permissions" if damage == "open" else "ledger.ledger"}
        assert everything_below(ledger.parent) == before

    def test_what_the_dead_have_reserved_is_noted_and_not_freed(self, examined, inside, ledger):
        code = "from tokcap.budget.sqlite import SqliteLedger; import sys, time\n"
        code += "SqliteLedger(sys.argv[1]).reserve('x', 77); print('held', flush=True); time.sleep(60)"
        holder = subprocess.Popen(
            [sys.executable, "-c", code, ledger.parent], stdout=subprocess.PIPE, env={**os.environ}
        )
        assert holder.stdout.readline() == b"held\n"
        assert examined()["ledger.reservations"][0]["message"] == "1, all held by running processes"
        holder.kill()
        holder.communicate()
        for _ in range(2):
            (check,) = examined()["ledger.reservations"]
            assert check["status"] == "note"
            assert "1 process died with 77 tokens reserved" in check["message"]
        assert check["remedy"] == "tokcap budget list"
        assert inside("budget", "list").status == 0
        assert examined()["ledger.reservations"][0]["message"] == "none"

    def test_a_session_that_every_call_would_charge_has_to_be_there(self, examined, ledger):
        assert not wrong(examined(TOKCAP_SESSION="x"))
        found = examined(TOKCAP_SESSION="y")
        assert wrong(found) == {"ledger.session"}
        assert found["ledger.session"][0]["remedy"].startswith("tokcap budget start y ")


class TestUsageLog:
    def test_a_healthy_log_is_ok(self, examined, inside, with_account):
        assert "none yet" in examined()["account.lines"][0]["message"]
        inside("-n", "5", stdin=b"1\n")
        before = everything_below(with_account)
        found = examined()
        assert found["account.lines"][0]["message"].startswith("1 day, ")
        assert found["account.permissions"][0]["status"] == "ok"
        assert not wrong(found)
        assert everything_below(with_account) == before

    def test_a_log_that_is_turned_off_is_reported(self, examined):
        assert "turned off" in examined()["account.account"][0]["message"]

    @pytest.mark.parametrize(
        ("spoil", "name"),
        [
            (usage_logs.read_only, "permissions"),
            (usage_logs.a_file, "lines"),
            (usage_logs.a_link, "lines"),
            (usage_logs.a_linked_day, "links"),
            (usage_logs.a_pipe, "today"),
        ],
    )
    def test_calls_that_are_silently_not_logged_are_reported(
        self, examined, inside, with_account, spoil, name
    ):
        spoil(with_account)
        with_account.parent.chmod(0o700)
        if with_account.is_dir() and spoil is not usage_logs.read_only:
            with_account.chmod(0o700)
        for path in with_account.glob("*.jsonl") if spoil is usage_logs.a_pipe else ():
            path.chmod(0o600)
        found = examined()
        assert wrong(found) == {f"account.{name}"}
        subprocess.run(["sh", "-c", found[f"account.{name}"][0]["remedy"]], check=True, timeout=60)
        inside("-n", "5", stdin=b"1\n")
        assert not wrong(examined())
        assert len(usage_logs.lines_in(with_account)) == 1

    def test_a_day_that_is_full_is_a_note(self, examined, with_account):
        usage_logs.a_full_day(with_account)
        subprocess.run(["chmod", "-R", "go=", with_account.parent], check=True)
        (check,) = examined()["account.today"]
        assert (check["status"], check["message"]) == (
            "note",
            "the log is full (64M): no more calls are logged today",
        )


class TestPackages:
    @pytest.mark.parametrize(
        ("text", "name", "least", "below", "extra"),
        [
            ("orjson>=3.11.5", "orjson", "3.11.5", "", ""),
            ("matplotlib<4,>=3.8; extra == 'plot'", "matplotlib", "3.8", "4", "plot"),
            ('pytest-xdist >= 3.5 ; extra == "test"', "pytest-xdist", "3.5", "", "test"),
            ("zope.interface", "zope.interface", "", "", ""),
            ("a<=2", "a", "", "", ""),
        ],
    )
    def test_a_requirement_is_read_as_metadata_write_it(self, text, name, least, below, extra):
        found = packages.requirement_of(text)
        assert (found.name, found.least, found.below, found.extra) == (name, least, below, extra)

    def test_every_package_is_reported_with_its_version_or_how_to_install_it(self, examined, monkeypatch):
        versions = {"orjson": "3.10", "matplotlib": "3.7.9", "gigatoken": "3.0"}
        real = metadata.version

        def version(name):
            if name == "nowhere":
                raise metadata.PackageNotFoundError(name)
            return versions.get(name) or real(name)

        required = ["orjson>=3.11.5", "typer>=0.19", "gigatoken<3,>=2.0; extra == 'bulk'"]
        required += ["matplotlib>=3.8; extra == 'plot'", "nowhere; extra == 'more'", "ruff; extra == 'test'"]
        monkeypatch.setattr(metadata, "requires", lambda _name: required)
        monkeypatch.setattr(metadata, "version", version)
        found = {
            name.removeprefix("packages."): (checks[0]["status"], checks[0]["message"])
            for name, checks in examined().items()
            if name.startswith("packages.")
        }
        more = found.pop("more")
        assert found == {
            "orjson": ("wrong", "3.10 is too old: 3.11.5 is needed"),
            "typer": ("ok", real("typer")),
            "bulk": ("note", "for large counts: gigatoken 3.0 is too new: a version below 3 is needed"),
            "plot": ("note", "for tokcap stats --plot: matplotlib 3.7.9 is too old: 3.8 is needed"),
        }
        assert more[0] == "ok"
        assert more[1].startswith("optional: nowhere is not installed; to install it: ")
        assert more[1].endswith(" -m pip install nowhere")


class TestConfiguration:
    @pytest.mark.parametrize(
        ("text", "messages"),
        [
            (
                "keep = 'tail'\nalgin = 1\n\npty = 7",
                [":2: unknown key 'algin'; did you mean align?", ":4: pty: 7 is"],
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
            assert check["remedy"] == f'"${{EDITOR:-vi}}" +{message[1]} {config}'

    @pytest.mark.parametrize(
        ("variables", "name", "remedy"),
        [
            ({"TOKCAP_KEEP": "middle"}, "keep", "unset TOKCAP_KEEP"),
            ({"TOKCAP_CONFIG": "/nowhere/config.toml"}, "file", "unset TOKCAP_CONFIG"),
            ({"TOKCAP_TOKENIZER": "nope"}, "tokenizer", "unset TOKCAP_TOKENIZER"),
            ({"TOKCAP_MODEL": "nope"}, "model", "unset TOKCAP_MODEL"),
            ({"TOKCAP_SHELL": "/bin/tokcap-sh"}, "shell", "unset TOKCAP_SHELL"),
            ({"TOKCAP_SHELL": "/nowhere/sh"}, "shell", "unset TOKCAP_SHELL"),
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
            ("TOKCAP_MAX_TOKENS", "wrong", "TOKCAP_TOKEN_LIMIT"),
            ("TOKCAP_JSON", "wrong", "TOKCAP_OUTPUT"),
            ("TOCKAP_TOKEN_LIMIT", "wrong", "TOKCAP_TOKEN_LIMIT"),
            ("tokcap_data_dir", "wrong", "TOKCAP_DATA_DIR"),
            ("TOKCAP_GREP", "wrong", "--grep"),
            ("TOKCAP_XYZZY", "note", "not a variable of tokcap"),
        ],
    )
    def test_a_misspelt_variable_is_reported_with_the_right_spelling(self, examined, name, status, meant):
        (check,) = examined(**{name: "it's"})[f"variables.{name}"]
        assert check["status"] == status
        assert meant in check["message"]
        assert f"unset {name}" in check["remedy"]

    def test_every_variable_that_the_program_reads_is_known(self):
        named = set()
        for path in PACKAGE.rglob("*.py"):
            named |= set(re.findall(r"\bTOKCAP_[A-Z_]*[A-Z]\b", path.read_text()))
        assert named <= set(variables.KNOWN)


class TestSurroundings:
    def test_a_home_that_is_not_a_directory_is_reported(self, examined, monkeypatch, tmp_path):
        monkeypatch.delenv("TOKCAP_DATA_DIR")
        (tmp_path / "file").write_text("")
        found = examined(HOME=str(tmp_path / "file"))
        assert wrong(found) == {"data.place"}
        assert "cannot be created" in found["data.place"][0]["message"]
        assert found["data.home"][0]["status"] == "note"

    def test_without_home_the_system_is_asked_for_it(self, examined, monkeypatch):
        monkeypatch.delenv("HOME")
        (check,) = examined()["data.home"]
        assert check["status"] == "note"
        assert "HOME is not set" in check["message"]

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
                assert any(message in check["message"] for checks in found.values() for check in checks)
                assert wrong(found) <= {"data.permissions", "data.place"}
                assert wrong(found)
        finally:
            (tmp_path / "home").chmod(0o700)

    def test_a_data_directory_that_others_can_write_to_is_reported(self, examined, with_store):
        with_store.mkdir()
        for mode, status in ((0o777, "wrong"), (0o755, "note"), (0o700, "ok")):
            with_store.chmod(mode)
            assert examined()["data.permissions"][0]["status"] == status
            assert stat.S_IMODE(with_store.stat().st_mode) == mode

    def test_a_locale_without_utf8_is_a_note(self, examined):
        assert examined(LC_ALL="POSIX")["terminal.locale"][0]["remedy"] == "export LC_ALL=C.UTF-8"
        assert examined(LC_ALL="de_DE.UTF-8")["terminal.locale"][0]["status"] == "ok"

    def test_a_hook_that_calls_a_program_that_does_not_exist_is_reported(self, examined, tmp_path):
        settings = tmp_path / "home" / ".claude" / "settings.json"
        settings.parent.mkdir()
        assert "tokcap hook install claude-code" in examined()["hooks.claude-code"][0]["message"]
        program = tmp_path / "bin" / "tokcap"
        CLAUDE_CODE.install(str(settings), Installation(str(program), ("--token-limit", "500")))
        for status in ("wrong", "ok"):
            check = examined()["hooks.claude-code"][0]
            assert check["status"] == status
            again = "tokcap hook install claude-code --token-limit 500"
            assert check["remedy"] == (again if status == "wrong" else "")
            program.parent.mkdir(exist_ok=True)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
        settings.write_text("{")
        assert examined()["hooks.claude-code"][0]["status"] == "note"

    def test_completions_are_found_where_they_were_put(self, examined, path_of, tmp_path, inside):
        only_fish = path_of("fish")
        path = tmp_path / "home" / ".config" / "fish" / "completions" / "tokcap.fish"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"something older")
        check = examined(PATH=only_fish)["shells.fish"][0]
        assert (check["status"], check["remedy"]) == (
            "note",
            f"mv {path} '{path}~' && tokcap completion install fish",
        )
        path.write_bytes(inside("completion", "fish").out.replace(b"token-limit", b"token-limit-x"))
        assert "of another version" in examined(PATH=only_fish)["shells.fish"][0]["message"]
        path.write_bytes(inside("completion", "fish").out)
        assert examined(PATH=only_fish)["shells.fish"][0]["status"] == "ok"

    @pytest.mark.parametrize("name", [as_nightly(name) if name == "zsh" else name for name in TARGETS])
    def test_the_program_itself_is_asked_and_the_remedy_helps(
        self, examined, inside, path_of, tmp_path, name
    ):
        path = f"{tmp_path}/home/.local/bin:{path_of(name)}"
        check = examined(PATH=path)[f"shells.{name}"][0]
        assert check["status"] == "note"
        assert check["remedy"] == f"tokcap completion install {name}"
        assert inside(*check["remedy"].split()[1:], env={"PATH": path}).status == 0
        assert examined(PATH=path)[f"shells.{name}"][0]["status"] == "ok"

    def test_a_shell_that_cannot_be_asked_is_a_note(self, examined, path_of, tmp_path):
        (tmp_path / "home" / ".bashrc").write_text("exit\n")
        check = examined(PATH=path_of("bash"))["shells.bash"][0]
        assert check["status"] == "note"
        assert check["message"].startswith("could not be asked for the completion")

    def test_a_start_up_file_that_calls_doctor_is_not_asked_again(self, examined, path_of, tmp_path):
        call = f"PYTHONPATH={shlex.quote(IMPORT_PATH)} {shlex.quote(sys.executable)} -m tokcap doctor"
        (tmp_path / "home" / ".bashrc").write_text(f"{call} >> ~/asked\n")
        examined(PATH=path_of("bash"))
        asked = (tmp_path / "home" / "asked").read_text()
        assert asked.count("Shells") == 1
        assert "not asked: tokcap itself has started this shell" in asked

    def test_it_works_in_a_directory_that_no_longer_exists(self, tmp_path):
        gone = tmp_path / "gone"
        script = f'mkdir {gone}; cd {gone}; rmdir {gone}; PATH= "$0" -m tokcap doctor -o json'
        world = {**os.environ, "PYTHONPATH": IMPORT_PATH, "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            ["sh", "-c", script, sys.executable], env=world, capture_output=True, timeout=60, check=False
        )
        assert not wrong(report(checked(("-o", "json"), Ran(done.returncode, done.stdout, done.stderr))))


class TestReport:
    def test_a_check_that_fails_is_a_finding_and_the_others_still_run(self, inside, monkeypatch):
        def check(_env):
            yield from ()
            raise RuntimeError("out\nof order")

        broken = types.ModuleType("broken")
        broken.check = check
        monkeypatch.setitem(sys.modules, "broken", broken)
        mine = examination.Check("mine", "Mine", "broken")
        monkeypatch.setattr(examination, "CHECKS", (mine, *examination.CHECKS))
        ran = inside("doctor", env=NO_SHELLS)
        assert ran.status == 1
        lines = ran.out.decode().splitlines()
        assert lines[:2] == [
            "Mine",
            "  wrong  mine  this check failed: RuntimeError: out\\x0aof order",
        ]
        assert lines[2].startswith("         do: tokcap --version")
        assert lines[-1].startswith("1 thing is wrong")
        assert "Configuration" in lines

    @pytest.mark.parametrize(
        ("world", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
    )
    def test_colours_are_for_terminals_and_for_those_who_want_them(self, world, coloured):
        shown = report_on_a_terminal("doctor", **NO_SHELLS, **{"TERM": "xterm", "NO_COLOR": "", **world})
        assert ("\x1b[" in shown) == coloured
        assert "nothing is wrong" in shown

    @pytest.mark.parametrize("columns", [40, 60, 80, 132])
    def test_lines_are_wrapped_between_words(self, columns, with_store, tmp_path):
        variables = {**NO_SHELLS, "TERM": "dumb", "TOKCAP_XYZZY": "it's on"}
        shown = report_on_a_terminal("doctor", columns=columns, **variables)
        for line in shown.splitlines():
            # A word that is longer than a line, such as a path or a quoted one, is not broken.
            long = max(map(len, line.split()), default=0) > columns - 16 or "'" in line or '"' in line
            assert len(line) <= columns or long, line
        words = report_on_a_terminal("doctor", columns=1000, **variables).split()
        assert [word for word in shown.split() if word != "\\"] == words

    @given(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), min_size=1))
    def test_a_remedy_of_several_lines_is_the_same_command(self, given_words):
        command = " ".join(map(quoted, [*given_words, "a b", "it's"]))
        finding = Finding("name", "wrong", "message", command)
        lines = [*finding_lines(finding, 4, Screen(40, is_terminal=True))]
        first = next(number for number, line in enumerate(lines) if "do: " in line)
        typed = "\n".join(lines[first:]).partition("do: ")[2]
        assert shlex.split(typed.replace("\\\n", "")) == [*given_words, "a b", "it's"]

    def test_only_what_needs_attention_is_shown_on_request(self, inside, examined, with_store):
        ran = inside("doctor", "--problems", env={**NO_SHELLS, "TOKCAP_TOKENLIMIT": "5", "LC_ALL": "C.UTF-8"})
        assert ran.status == 1
        lines = ran.out.decode().splitlines()
        assert "Variables" in lines
        assert "Vocabularies" not in lines
        assert not [line for line in lines if line.startswith("  ok ")]
        assert lines[-1].startswith("1 thing is wrong")
        found = inside(
            "doctor", "--problems", "-o", "json", env={**NO_SHELLS, "TOKCAP_TOKENLIMIT": "5"}
        ).json["data"]
        assert {check["status"] for check in found} <= {"note", "wrong"}

    def test_where_all_is_well_problems_prints_nothing(self, inside, monkeypatch):
        def check(_env):
            yield examination.Finding("mine", "ok", "well")

        module = types.ModuleType("well")
        module.check = check
        monkeypatch.setitem(sys.modules, "well", module)
        monkeypatch.setattr(examination, "CHECKS", (examination.Check("mine", "Mine", "well"),))
        ran = inside("doctor", "--problems")
        assert (ran.status, ran.out, ran.err) == (0, b"", b"")
        assert inside("doctor", "--problems", "-o", "json").json["data"] == []

    def test_a_library_that_is_missing_is_named(self, tmp_path):
        (tmp_path / "orjson.py").write_text("raise ImportError('broken', name='orjson')\n")
        world = {**os.environ, "PYTHONPATH": f"{tmp_path}:{IMPORT_PATH}"}
        done = subprocess.run(
            [sys.executable, "-m", "tokcap", "doctor"],
            env=world,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 125
        assert done.stderr.startswith(b"tokcap: orjson cannot be loaded; the installation is incomplete")
        assert done.stderr.count(b"\n") == 1

    def test_checks_need_nothing_but_an_environment(self, tmp_path):
        env = Environment({"HOME": str(tmp_path), "PATH": "", "LANG": "C.UTF-8"})
        for group in examination.examine(env):
            assert group.findings
            assert not [finding for finding in group.findings if "this check failed" in finding.message]
