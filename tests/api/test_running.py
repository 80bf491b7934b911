"""`run` and `show` inside another program: the state of that program does not change."""

import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

from tests.support.tiers import times
from tokcap import (
    CommandNotExecutable,
    CommandNotFound,
    NotFound,
    SessionNotStarted,
    TokcapError,
    TokenizerUnavailable,
    UsageError,
    cap,
    count,
    open_session,
    run,
    show,
)

pytestmark = pytest.mark.usefixtures("with_store")


def test_a_result_has_both_streams_and_the_exit_status_of_the_command():
    result = run(["sh", "-c", "echo out; echo err >&2; exit 3"], limit=100)
    assert (result.stdout, result.stderr, result.status, result.ok) == ("out\n", "err\n", 3, False)
    assert (result.error.code, result.error.detail) == ("COMMAND_FAILED", "err\n")
    assert (result.truncated, result.next_offset, result.handle, result.warnings) == (False, None, None, ())
    assert (result.returned_tokens, result.total_tokens) == (count("out\nerr\n"), count("out\n"))
    known = (result.meta.truncated, result.meta.token_limit, result.meta.returned_tokens)
    assert known == (False, 100, result.returned_tokens)


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("command", ["echo hi", "seq 1 9 >&2", "seq 1 999; seq 1 9 >&2; exit 3"])
def test_recording_the_returned_tokens_is_the_truth(command, output):
    """What a session is charged for a call is what a caller without one records for it."""
    with open_session("measured", total=100_000) as budget:
        result = run(["sh", "-c", command], limit=200, output=output, session="measured")
        assert result.returned_tokens == budget.end()
    assert len(repr(result)) < 150


def test_without_a_limit_the_whole_output_is_returned():
    result = run(["sh", "-c", "seq 1 20000; kill -9 $$"])
    assert result.stdout == "".join(f"{number}\n" for number in range(1, 20001))
    assert (result.status, result.signal, result.error.code) == (137, 9, "COMMAND_KILLED")


def test_show_finds_streams_values_and_lines():
    document = '{"items": [{"body": "one\\ntwo"}], "rest": "' + "x " * 400 + '"}'
    result = run(["sh", "-c", "cat; echo oops >&2"], input=document, limit=60)
    assert show(result.handle, pointer="/items/0/body").text == "one\ntwo"
    assert show(result.handle, stream="err").text == "oops\n"
    assert show("@last", grep="oops", stream="err").text == "1:0:oops\n"
    with pytest.raises(NotFound):
        show(result.handle, grep="never")
    with pytest.raises(NotFound):
        show("0000")
    with pytest.raises(UsageError, match="context"):
        show(result.handle, context=3)


def test_input_directory_and_variables_are_passed_to_the_command():
    assert run(["cat"], input=b"\xff\0" * 3).data == b"\xff\0" * 3
    assert run(["cat"]).data == b""
    assert run(["pwd"], cwd="/usr").stdout == "/usr\n"
    assert run(["sh", "-c", "echo $WHO"], env={"WHO": "me", "PATH": os.environ["PATH"]}).stdout == "me\n"
    with open(__file__, "rb") as file:
        assert run(["head", "-c", "3"], stdin=file.fileno()).data == b'"""'
    with pytest.raises(UsageError, match="cwd"):
        run(["pwd"], cwd="/nowhere")
    with pytest.raises(TypeError, match="not both"):
        run(["cat"], input="x", stdin=0)


@pytest.mark.parametrize(
    ("argv", "options", "error"),
    [
        (["no-such-command"], {}, CommandNotFound),
        (["/etc/passwd"], {}, CommandNotExecutable),
        ([], {}, UsageError),
        ("ls -l", {}, UsageError),
        (["ls", "a\0b"], {}, UsageError),
        (["true"], {"limit": 0}, UsageError),
        (["true"], {"limit": True}, UsageError),
        (["true"], {"limit": "many"}, UsageError),
        (["true"], {"keep": "middle"}, UsageError),
        (["true"], {"timeout": -1.0}, UsageError),
        (["true"], {"keep": "tail", "kill_on_limit": True}, UsageError),
        (["true"], {"tokenizer": "nonsense"}, TokenizerUnavailable),
        (["true"], {"session": "never-started"}, SessionNotStarted),
        (["true"], {"token_limit": 5}, TypeError),
        (["true"], {"handle": "x"}, TypeError),
    ],
)
def test_a_refusal_is_an_exception_and_nothing_runs(argv, options, error):
    with pytest.raises(error) as caught:
        run(argv, **options)
    if error is not TypeError:
        assert isinstance(caught.value, TokcapError)
        assert caught.value.code
        assert "\n" not in str(caught.value)


def test_warnings_are_in_the_result_and_not_in_its_streams(with_store):
    with_store.write_text("in the way")
    result = run(["sh", "-c", "seq 1 1000; printf 'no newline' >&2"], limit=60)
    assert [warning.code for warning in result.warnings] == ["NOT_STORED"]
    assert (result.stderr, result.handle) == ("no newline", None)
    assert "next: --token-offset" in result.stdout


def test_variables_and_config_file_do_not_change_a_call(monkeypatch, tmp_path):
    text = "word " * 500
    config = tmp_path / "config.toml"
    config.write_text("token_limit = 7\nspill_days = 3\n")
    before = cap(text, 100), run(["echo", text], limit=100)
    monkeypatch.setenv("TOKCAP_CONFIG", str(config))
    for name, value in {"LIMIT": "5", "OFFSET": "9", "COUNT": "1"}.items():
        monkeypatch.setenv(f"TOKCAP_TOKEN_{name}", value)
    for name, value in {"SENTINEL": "zzz", "OUTPUT": "json", "SESSION": "none", "SPILL": "never"}.items():
        monkeypatch.setenv(f"TOKCAP_{name}", value)
    after = cap(text, 100), run(["echo", text], limit=100)
    assert [found.data for found in before] == [found.data for found in after]
    assert after[1].handle


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join(60)
    return found[0]


def test_run_works_in_any_thread():
    assert (
        in_a_thread(lambda: run(["seq", "1", "1000"], limit=50)).stdout
        == run(["seq", "1", "1000"], limit=50).stdout
    )
    assert in_a_thread(lambda: run(["sleep", "60"], timeout=0.2)).timed_out
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    assert in_a_thread(lambda: run(["sh", "-c", stubborn], timeout=0.2, kill_after=0.2)).timed_out


def test_many_threads_run_and_cap_at_once():
    broken = b"line \xff\xfe\n" * 200

    def both():
        ran, capped = run(["seq", "1", "300"], limit=50), cap(broken, 40)
        return ran.data, ran.warnings, capped.data, capped.warnings

    expected = both()
    wrong = []

    def work():
        for _ in range(2 * times()):
            found = both()
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# The first thread to fork lets the second one fork before it, if that is possible. The child of the second
# does not execute its command before the first thread has its result.
TWO_STARTS = """
import os, threading
from tokcap import run

go, forked = threading.Event(), threading.Event()
first = threading.Thread(target=lambda: results.append(run(["true"], limit=50)))
second = threading.Thread(target=lambda: (go.wait(), run(["true"], limit=50)))
results = []
wait, end = os.pipe()

def before():
    if threading.current_thread() is first:
        go.set()
        forked.wait(1)

def in_child():
    if threading.current_thread() is second:
        os.read(wait, 1)

def in_parent():
    if threading.current_thread() is second:
        forked.set()

os.register_at_fork(before=before, after_in_child=in_child, after_in_parent=in_parent)
first.start()
second.start()
first.join()
os.write(end, b".")
second.join()
print([warning.code for warning in results[0].warnings])
"""


def test_a_command_that_another_thread_starts_does_not_keep_the_output_open():
    done = subprocess.run([sys.executable, "-c", TWO_STARTS], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"[]\n"


def caller_state():
    numbers = set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}
    return (
        {number: signal.getsignal(number) for number in numbers},
        signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        gc.get_threshold(),
        gc.isenabled(),
        os.getcwd(),
        sys.stdout,
        sys.excepthook,
        [os.stat(number) for number in (0, 1, 2)],
        sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None,
    )


@pytest.mark.parametrize("options", [{}, {"limit": 20}, {"timeout": 0.1}, {"stderr": "merge"}])
def test_the_state_of_the_caller_does_not_change(options, capfd):
    # The first call loads modules that stay loaded. Only the second call is tested.
    run(["seq", "1", "100"], limit=20)
    # Collect garbage of earlier tests, which may hold open files.
    gc.collect()
    before = caller_state()
    run(["sh", "-c", "echo to stderr >&2; seq 1 100; sleep 0.2"], **options)
    cap("word " * 100, 10)
    with pytest.raises(CommandNotFound):
        run(["no-such-command"])
    assert caller_state() == before
    assert capfd.readouterr() == ("", "")


def test_if_the_program_ignores_sigchld_the_output_is_returned_without_an_invented_status():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = in_a_thread(lambda: run(["sh", "-c", "seq 1 100; sleep 0.1"], limit=30))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert result.stdout.startswith("1\n2\n")
    assert result.handle
    assert (result.status, result.error.code) == (125, "IO_ERROR")
    assert "SIGCHLD" in result.error.message


def test_signals_go_to_the_caller_while_a_command_runs(tmp_path):
    """The handler of the caller runs during the call, and the command does not get the signal."""
    handled = tmp_path / "handled"
    before = signal.signal(signal.SIGUSR1, lambda *_: handled.touch())
    script = "trap 'echo told' USR1; kill -USR1 $1; until [ -e $2 ]; do sleep 0.02; done; echo done"
    try:
        result = run(["sh", "-c", script, "sh", str(os.getpid()), str(handled)])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert result.stdout == "done\n"


@pytest.mark.skipif(
    not os.access("/proc/self/wchan", os.R_OK), reason="only Linux tells what a thread waits for"
)
def test_an_interrupt_stops_the_command_and_is_raised_again(tmp_path):
    code = """
        import os, signal, threading, time, tokcap

        def interrupt():
            # Not before the command runs, and tokcap waits for its output.
            main_thread = f"/proc/self/task/{os.getpid()}/wchan"
            while not os.path.exists("pid") or "poll" not in open(main_thread).read():
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            tokcap.run(["sh", "-c", "echo $$ > new; mv new pid; exec sleep 600"], spill="never")
        except KeyboardInterrupt:
            pid = int(open("pid").read())
            try:
                os.kill(pid, 0)
                print("still there")
            except ProcessLookupError:
                print("ended")
    """
    import textwrap

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("ended\n", "")


def test_a_program_with_closed_streams_can_run_commands(tmp_path):
    code = (
        "import os\nfor n in (0, 1, 2): os.close(n)\n"
        "import tokcap\nresult = tokcap.run(['sh', '-c', 'cat && echo out; echo err >&2'], limit=50)\n"
        "open('found', 'w').write(result.stdout + result.stderr)\n"
        "try:\n    os.fstat(1)\nexcept OSError:\n    open('closed', 'w').close()\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=60, check=False)
    # `open` used the first free number only for a moment.
    assert (tmp_path / "found").read_text() == "out\nerr\n"
    assert (tmp_path / "closed").exists()


def test_text_that_is_not_valid_unicode_is_capped_too():
    text = "a \ud800 b\n" * 50
    assert cap(text, 1000).text == text
    assert cap(text, 30).truncated
    assert 0 < len(cap(b"\xff" * 50, 5, sentinel="").text) < 50
    assert count("\ud800") > 0
    assert cap(bytearray(b"abc"), 5).text == b"abc"
    with pytest.raises(TypeError):
        cap(5, 5)
