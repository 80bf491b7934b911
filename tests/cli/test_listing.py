"""`tokcap completion --list`: what the completion scripts ask for while somebody waits."""

from __future__ import annotations

import os
import sqlite3

import pytest

from tests.support.loading import modules_loaded_for
from tokcap.cli.listing import MOST_HANDLES

ODD_MODELS = """
[models."my model"]
context_window = 1000
[models."two\\nlines"]
[models.claude]
context_window = 77
"""


def listed(ran):
    assert (ran.status, ran.err) == (0, b"")
    return [tuple(line.split("\t")) for line in ran.out.decode().splitlines()]


@pytest.fixture
def stored(inside, with_store):
    """Store what some commands write, an hour apart; their handles in that order."""

    def store(*commands):
        handles = []
        for number, command in enumerate(commands):
            ran = inside("--spill", "always", "-n", "5", "-o", "json", "--", *command)
            handles.append(ran.json["meta"]["handle"])
            moment = 1_700_000_000 + 3600 * number
            os.utime(with_store / "spill" / handles[-1][:2] / handles[-1] / "out", (moment, moment))
        return handles

    return store


def test_handles_are_listed_the_latest_first_with_age_size_and_command(inside, stored):
    first, second = stored(["echo", "one"], ["printf", "%s\n", "a\x1b[31m\tb"])
    last, *rows = listed(inside("completion", "--list", "handles"))
    assert last[0] == "@last"
    assert [row[0] for row in rows] == [second, first]
    # One tab to a line, and nothing that a terminal would obey.
    assert rows[0][1].endswith("d, 9B, printf %s? a?[31m?b")
    assert rows[1][1].endswith("d, 4B, echo one")


def test_handles_are_looked_for_by_their_beginning(inside, stored):
    (handle,) = stored(["echo", "one"])
    for digits in (1, 2, 3, 12):
        assert [row[0] for row in listed(inside("completion", "--list", "handles", handle[:digits]))] == [
            handle
        ]
    assert [row[0] for row in listed(inside("completion", "--list", "handles", "@la"))] == ["@last"]
    for beginning in ("zz", "../", f"{handle}0", "-"):
        assert not listed(inside("completion", "--list", "handles", beginning))


def test_last_is_not_offered_when_it_was_removed(inside, stored):
    first, second = stored(["echo", "one"], ["echo", "two"])
    inside("spill", "rm", second)
    assert [row[0] for row in listed(inside("completion", "--list", "handles"))] == [first]


def test_other_handles_are_offered_when_last_cannot_be_read(inside, stored, with_store):
    (handle,) = stored(["echo", "one"])
    (with_store / "spill" / "last").write_bytes(b"a" * 300)
    assert [row[0] for row in listed(inside("completion", "--list", "handles"))] == [handle]


def test_of_very_many_handles_the_latest_are_listed(inside, with_store):
    for number in range(MOST_HANDLES + 20):
        entry = with_store / "spill" / "ab" / f"able{number:09}"
        entry.mkdir(parents=True, mode=0o700)
        (entry / "out").touch()
        os.utime(entry / "out", (number, number))
    for directory in (with_store, with_store / "spill", with_store / "spill" / "ab"):
        directory.chmod(0o700)
    rows = listed(inside("completion", "--list", "handles"))
    assert [row[0] for row in rows] == [f"able{number:09}" for number in range(MOST_HANDLES + 19, 19, -1)]
    assert [row[0] for row in listed(inside("completion", "--list", "handles", "able000000007"))] == [
        "able000000007"
    ]


def test_sessions_that_run_are_listed(inside, with_store):
    for name in ("proj:1", "me@home", "over"):
        inside("budget", "start", name, "--total", "100")
    inside("budget", "end", "over")
    inside("budget", "record", "--session", "me@home", "--input", "7")
    assert listed(inside("completion", "--list", "sessions")) == [
        ("proj:1", "0 of 100 tokens used"),
        ("me@home", "7 of 100 tokens used"),
    ]


def test_models_of_the_config_file_are_listed_first(inside, tmp_path):
    (tmp_path / "config.toml").write_text(ODD_MODELS)
    with_file = {"TOKCAP_CONFIG": str(tmp_path / "config.toml")}
    rows = listed(inside("completion", "--list", "models", env=with_file))
    assert rows[:2] == [("my model", "1000 tokens"), ("claude", "77 tokens")]
    assert ("gpt-4o", "128000 tokens") in rows
    assert ("gpt-4o", "128000 tokens") in listed(inside("completion", "--list", "models"))


@pytest.mark.parametrize("kind", ["handles", "sessions", "models"])
def test_what_is_broken_is_passed_over_in_silence(kind, inside, tmp_path):
    (tmp_path / "file").touch()
    broken = tmp_path / "broken"
    (broken / "spill" / "ab" / "able917365018").mkdir(parents=True)
    (broken / "spill" / "ab" / "able917365018" / "record.json").write_text("{")
    (broken / "spill" / "last").mkdir()
    (broken / "ledger.db").write_text("no database at all" * 100)
    for directory in (tmp_path / "file", tmp_path / "file" / "below", broken, tmp_path / "nowhere"):
        world = {"TOKCAP_DATA_DIR": str(directory), "TOKCAP_CONFIG": str(tmp_path / "file" / "none")}
        rows = listed(inside("completion", "--list", kind, env=world))
        # Ours are always known.
        assert (kind == "models") == any(row[0] == "gpt-4o" for row in rows)
    assert not (tmp_path / "nowhere").exists()


def test_a_locked_ledger_is_not_waited_for(inside, with_store):
    inside("budget", "start", "review")
    holder = sqlite3.connect(with_store / "ledger.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert listed(inside("completion", "--list", "sessions")) == []
    holder.close()


@pytest.mark.parametrize("arguments", [(), ("nothing",)])
def test_an_unknown_kind_is_bad_usage(arguments, inside):
    ran = inside("completion", "--list", *arguments)
    assert (ran.status, ran.out) == (2, b"")
    kinds = b"handles, sessions, models, tokenizers, added"
    assert ran.err == b"tokcap: completion: --list takes one of %s\n" % kinds


@pytest.mark.parametrize("kind", ["handles", "sessions", "models"])
def test_a_listing_loads_no_more_than_it_needs(kind):
    loaded = modules_loaded_for("completion", "--list", kind, stdin=b"")
    heavy = {"typer", "click", "rich", "orjson", "tiktoken", "platformdirs", "sqlite3", "typing", "inspect"}
    assert loaded.isdisjoint(heavy)
    assert "tokcap.cli.listing" in loaded
