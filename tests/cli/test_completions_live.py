"""Names that only the store, the ledger and the config file know, completed in real shells."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.interactive import (
    PATIENCE_SECONDS,
    TAB,
    bash,
    calls,
    fish_rows,
    furnished,
    offered,
    opened,
    world,
)
from tokcap.cli.completions import SHELLS

SESSIONS = {"proj:one", "proj:two", "me@home+1", "review"}
MODELS = """
[models."my model"]
[models.'it"s $HOME']
[models."don't"]
"""


# Shows its words as the function in the shells does, but answers the completions.
OWN = r"""#!/bin/sh
case $1 in
    completion) exec real "$@" ;;
esac
printf '<<'; printf '%s\037' "$@"; printf '>>'
"""


@pytest.fixture(params=SHELLS)
def shell(request):
    return request.param


@pytest.fixture
def home(shell, tmp_path):
    return furnished(shell, tmp_path)


def tokcap(home, *arguments):
    done = subprocess.run(
        [home / "tokcap", *arguments],
        capture_output=True,
        text=True,
        env=world(home),
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    calls(home)
    return done.stdout


def stored(home, text):
    """Store an output; its handle."""
    tokcap(home, "--spill", "always", "-n", "50", "--", "echo", text)
    return (home / "data" / "spill" / "last").read_text().splitlines()[-1].split()[0]


def test_handles_are_completed_from_the_store(shell, home):
    handles = {stored(home, text) for text in ("one", "two: three", "four")}
    some = min(handles)
    behind, begun, path, removed, again, last = offered(
        shell,
        home,
        "tokcap show ",
        f"tokcap show {some[:6]}",
        "tokcap spill path --stream err ",
        f"tokcap spill rm {some} ",
        f"tokcap show --stream out {some[:6]}",
        "tokcap show @l",
    )
    assert behind == path == {*handles, "@last"}
    assert begun == again == {some}
    assert removed >= handles - {some}
    assert last == {"@last"}


def test_sessions_are_completed_from_the_ledger(shell, home):
    for name in SESSIONS:
        tokcap(home, "budget", "start", name, "--total", "1000")
    lines = (
        "tokcap --session ",
        "tokcap --session=",
        "tokcap budget status ",
        "tokcap budget end --session ",
        "tokcap hook install gemini --session ",
        "tokcap -n 5 --session ",
    )
    *answers, begun, no_more = offered(
        shell, home, *lines, "tokcap --session rev", "tokcap budget end review "
    )
    for line, answer in zip(lines, answers, strict=True):
        assert answer == SESSIONS, line
    assert begun == {"review"}
    assert no_more.isdisjoint(SESSIONS)


def test_tab_inserts_a_name_whatever_it_holds(shell, home):
    handle = stored(home, "one")
    for name in SESSIONS:
        tokcap(home, "budget", "start", name)
    (home / ".config" / "tokcap").mkdir(parents=True)
    (home / ".config" / "tokcap" / "config.toml").write_text(MODELS)
    with opened(shell, home) as terminal:
        assert_inserts_names(terminal, handle)


def assert_inserts_names(terminal, handle):
    for typed, words in {
        f"show {handle[:5]}": ["show", handle],
        "show @l": ["show", "@last"],
        "spill path @": ["spill", "path", "@last"],
        "--session proj:o": ["--session", "proj:one"],
        "--session=proj:t": ["--session=proj:two"],
        "--session=rev": ["--session=review"],
        "budget status me@": ["budget", "status", "me@home+1"],
        "budget status m": ["budget", "status", "me@home+1"],
        "--model my": ["--model", "my model"],
        "--model=my\\ m": ["--model=my model"],
        "--model 'my m": ["--model", "my model"],
        '--model "my': ["--model", "my model"],
        "--model it": ["--model", 'it"s $HOME'],
        '--model "it': ["--model", 'it"s $HOME'],
        "--model do": ["--model", "don't"],
        "show @last --model gpt-4o-": ["show", "@last", "--model", "gpt-4o-"],
    }.items():
        assert terminal.words_after(f"tokcap {typed}", TAB) == words, typed


def test_bash_without_its_library_inserts_names_too(tmp_path):
    # There `@` parts words as well.
    home = furnished("bash", tmp_path)
    handle = stored(home, "one")
    for name in SESSIONS:
        tokcap(home, "budget", "start", name)
    (home / ".config" / "tokcap").mkdir(parents=True)
    (home / ".config" / "tokcap" / "config.toml").write_text(MODELS)
    with bash(home, library=False) as terminal:
        assert_inserts_names(terminal, handle)
        terminal.words_after("COMP_WORDBREAKS=$' \\t\\n'; tokcap", "")
        assert_inserts_names(terminal, handle)


def test_zsh_and_fish_describe_a_handle(tmp_path):
    home = furnished("fish", tmp_path)
    handle = stored(home, "one: two")
    (rows,) = fish_rows(home, ["tokcap show "])
    described = dict(row.split("\t") for row in rows)
    assert described[handle].endswith("s, 9B, echo one: two")
    with opened("zsh", home) as terminal:
        terminal.words_after("tokcap show ", TAB)
        assert f"{handle}" in terminal.shown
        assert "9B, echo one: two" in terminal.shown


def test_the_program_that_is_asked_is_the_one_that_was_typed(shell, home):
    tokcap(home, "budget", "start", "review")
    # As in a virtual environment that is not activated.
    (home / "own").mkdir()
    (home / "tokcap").rename(home / "real")
    (home / "own" / "tokcap").write_text(OWN)
    (home / "own" / "tokcap").chmod(0o755)
    assert offered(shell, home, "own/tokcap --session r") == [{"review"}]


def test_what_is_broken_makes_no_noise(shell, home):
    data = home / "data"

    def damage_the_ledger():
        data.unlink()
        data.mkdir()
        (data / "ledger.db").write_text("nothing of a database")

    with opened(shell, home) as terminal:
        for break_something in (
            lambda: None,
            data.touch,
            damage_the_ledger,
            lambda: (home / "tokcap").write_text("#!/bin/sh\necho tokcap: no >&2; exit 125\n"),
            lambda: (home / "tokcap").write_text("#!/no/such/interpreter\n"),
        ):
            break_something()
            for typed in ("show ab", "--session ", "spill rm "):
                assert terminal.words_after(f"tokcap {typed}", TAB) == typed.split()
                for word in ("rror", "tokcap:", "not found", "interpreter", "No such", "nknown"):
                    assert word not in terminal.shown


def test_pressing_tab_creates_nothing(home, shell):
    offered(shell, home, "tokcap show ", "tokcap --session ")
    assert calls(home)
    assert not (home / "data").exists()
