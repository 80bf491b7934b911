"""Names that only the store, the ledger and the config file know, completed in real shells."""

from __future__ import annotations

import pytest

from tests.support.interactive import TAB, bash, calls, fish_rows, furnished, offered, opened, world
from tests.support.program import run_inside
from tests.support.tiers import as_nightly, nightly
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


# The script of every shell asks the same program for names.
bash_everyday = pytest.mark.parametrize(
    "shell", ["bash", as_nightly("zsh"), as_nightly("fish")], indirect=True, scope="module"
)


@pytest.fixture(params=SHELLS, scope="module")
def shell(request):
    return request.param


@pytest.fixture(scope="module")
def terminal(shell, tmp_path_factory):
    """One shell answers all questions: it starts slowly, and no question changes it."""
    with opened(shell, with_names(furnished(shell, tmp_path_factory.mktemp(shell)))) as terminal:
        yield terminal


@pytest.fixture
def empty(shell, tmp_path):
    """A home in which nothing is stored."""
    return furnished(shell, tmp_path)


def call(home, *arguments):
    assert run_inside(arguments, b"", world(home)).status == 0


def with_names(home):
    """Store outputs, start sessions, and configure models."""
    for text in ("two: three", "four", "one: two"):
        call(home, "--spill", "always", "-n", "50", "--", "echo", text)
    for name in SESSIONS:
        call(home, "budget", "start", name, "--total", "1000")
    (home / ".config" / "tokcap").mkdir(parents=True)
    (home / ".config" / "tokcap" / "config.toml").write_text(MODELS)
    return home


def handles_in(home):
    """Return all handles, and the last one."""
    handles = {path.name for path in (home / "data" / "spill").glob("??/*")}
    assert len(handles) == 3
    return handles, (home / "data" / "spill" / "last").read_text().splitlines()[-1].split()[0]


def test_handles_are_completed_from_the_store(terminal):
    handles, some = handles_in(terminal.home)
    behind, begun, path, removed, again, last = offered(
        terminal,
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


@bash_everyday
def test_sessions_are_completed_from_the_ledger(terminal):
    lines = (
        "tokcap --session ",
        "tokcap --session=",
        "tokcap budget status ",
        "tokcap budget end --session ",
        "tokcap hook install gemini --session ",
        "tokcap -n 5 --session ",
    )
    *answers, begun, no_more = offered(terminal, *lines, "tokcap --session rev", "tokcap budget end review ")
    for line, answer in zip(lines, answers, strict=True):
        assert answer == SESSIONS, line
    assert begun == {"review"}
    assert no_more.isdisjoint(SESSIONS)


def test_tab_inserts_a_name_whatever_it_holds(terminal):
    assert_inserts_names(terminal)


def assert_inserts_names(terminal):
    _, handle = handles_in(terminal.home)
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


@nightly
def test_bash_without_its_library_inserts_names_too(tmp_path):
    # There `@` parts words as well.
    with bash(with_names(furnished("bash", tmp_path)), library=False) as terminal:
        assert_inserts_names(terminal)
        terminal.words_after("COMP_WORDBREAKS=$' \\t\\n'; tokcap", "")
        assert_inserts_names(terminal)


def test_zsh_and_fish_describe_a_handle(terminal):
    _, handle = handles_in(terminal.home)
    if terminal.name == "fish":
        (rows,) = fish_rows(terminal.home, ["tokcap show "])
        assert dict(row.split("\t") for row in rows)[handle].endswith("s, 9B, echo one: two")
    if terminal.name == "zsh":
        terminal.words_after("tokcap show ", TAB)
        assert handle in terminal.shown
        assert "9B, echo one: two" in terminal.shown


@bash_everyday
def test_the_program_that_is_asked_is_the_one_that_was_typed(shell, empty):
    call(empty, "budget", "start", "review")
    # As in a virtual environment that is not activated.
    (empty / "own").mkdir()
    (empty / "tokcap").rename(empty / "real")
    (empty / "own" / "tokcap").write_text(OWN)
    (empty / "own" / "tokcap").chmod(0o755)
    with opened(shell, empty) as terminal:
        assert offered(terminal, "own/tokcap --session r") == [{"review"}]


@bash_everyday
def test_what_is_broken_makes_no_noise(shell, empty):
    data = empty / "data"

    def damage_the_ledger():
        data.unlink()
        data.mkdir()
        (data / "ledger.db").write_text("nothing of a database")

    with opened(shell, empty) as terminal:
        for break_something in (
            lambda: None,
            data.touch,
            damage_the_ledger,
            lambda: (empty / "tokcap").write_text("#!/bin/sh\necho tokcap: no >&2; exit 125\n"),
            lambda: (empty / "tokcap").write_text("#!/no/such/interpreter\n"),
        ):
            break_something()
            for typed in ("show ab", "--session ", "spill rm "):
                assert terminal.words_after(f"tokcap {typed}", TAB) == typed.split()
                for word in ("rror", "tokcap:", "not found", "interpreter", "No such", "nknown"):
                    assert word not in terminal.shown


@bash_everyday
def test_pressing_tab_creates_nothing(shell, empty):
    with opened(shell, empty) as terminal:
        offered(terminal, "tokcap show ", "tokcap --session ")
    assert calls(empty)
    assert not (empty / "data").exists()
