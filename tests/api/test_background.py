"""`start` and `Run.wait`: a command in the background, read while it runs."""

import pytest

import tokcap
from tests.support.reference import recount

pytestmark = pytest.mark.usefixtures("with_store")
LOOP = "while [ ! -e go ]; do sleep 0.02; done"


def test_what_is_new_is_returned_once_and_then_how_the_command_ended(tmp_path, inside):
    run = tokcap.start(
        ["sh", "-c", f"cat; {LOOP}; echo bye; exit 3"], input="one\ntwo\n", cwd=tmp_path, limit=500
    )
    assert run.wait(until="two").text == "one\ntwo\n[RUNNING]\n"
    waited = run.wait(timeout=0.001)
    assert (waited.text, waited.meta.exit_code) == ("[RUNNING]\n", 124)
    # Other readers have places of their own.
    assert inside("wait", run.name, "--timeout", "1ms").out.startswith(b"one\ntwo\n[RUNNING] --since 8")
    (tmp_path / "go").touch()
    waited = run.wait()
    assert (waited.text, waited.meta.exit_code) == ("bye\n[EXITED 3]\n", 3)
    result = run.result()
    assert (result.stdout, result.status) == ("one\ntwo\nbye\n", 3)
    assert tokcap.show(result.handle).text == tokcap.show(run.name).text == "one\ntwo\nbye\n"


def test_nothing_is_read_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("another file")
    for _ in range(20):
        run = tokcap.start(["cat"], input="one\n")
        assert run.wait(timeout=0.001).text in ("[RUNNING]\n", "one\n[RUNNING]\n", "one\n[EXITED 0]\n")
        run.result()


def test_all_of_a_long_output_is_read_in_pieces_within_the_limit():
    run, text = tokcap.start(["seq", "1", "2000"], limit=100), ""
    while True:
        waited = run.wait(limit=500)
        assert recount(waited.data) <= 500
        new, _, line = waited.text.rpartition("[")
        text += new
        if "MORE" not in line:
            break
    assert text == "".join(f"{number}\n" for number in range(1, 2001))
    assert run.result().truncated


def test_what_a_stopped_command_has_written_is_kept():
    run = tokcap.start(["sh", "-c", "echo one; exec sleep 60"], limit=500)
    run.wait(until="one")
    run.stop()
    assert run.result().status == 143
    assert run.wait().text == "[EXITED 143]\n"
    assert tokcap.show(run.name).text == "one\n"


def test_what_cannot_be_started_says_why():
    for argv, error in (([], tokcap.UsageError), (["sh"], tokcap.UsageError)):
        with pytest.raises(error):
            tokcap.start(argv, keep="all")
    run = tokcap.start(["/none/such"])
    with pytest.raises(tokcap.CommandNotFound):
        run.wait()
    with pytest.raises(tokcap.CommandNotFound):
        run.result()
