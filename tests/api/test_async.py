"""`arun`: many commands run at once, and a cancelled task leaves no command running."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tokcap import CommandNotFound, arun, open_session, run

pytestmark = pytest.mark.usefixtures("with_store")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def pid_in(path) -> int:
    while not (path.exists() and path.read_text().endswith("\n")):
        await asyncio.sleep(0.01)
    return int(path.read_text())


def test_arun_returns_the_same_result_as_run():
    words = ["sh", "-c", "seq 1 500; echo oops >&2; exit 4"]
    found, expected = asyncio.run(arun(words, limit=60)), run(words, limit=60)
    assert (found.data, found.stderr, found.status) == (expected.data, expected.stderr, 4)
    with pytest.raises(CommandNotFound):
        asyncio.run(arun(["no-such-command"]))


def test_more_commands_run_at_once_than_a_thread_pool_has_threads(tmp_path):
    """No command goes on before all have started. If they were queued, none would end."""
    number = 5
    started = tmp_path / "started"
    started.mkdir()
    os.mkfifo(tmp_path / "go")
    script = f"touch {started}/$0; read line < {tmp_path}/go; echo $0"

    async def all_of_them():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        running = [
            asyncio.create_task(arun(["sh", "-c", script, str(n)], limit=10, timeout=50))
            for n in range(number)
        ]
        while len(os.listdir(started)) < number:
            await asyncio.sleep(0.02)
        # For reading as well: open does not wait for the first reader then.
        with open(tmp_path / "go", "r+b", buffering=0) as go:
            go.write(b"\n" * number)
            return await asyncio.gather(*running)

    assert [result.stdout for result in asyncio.run(all_of_them())] == [f"{n}\n" for n in range(number)]


@pytest.mark.parametrize(
    "script",
    ["exec sleep 60", "sleep 60; echo never", "trap '' TERM; while :; do sleep 0.05; done"],
    ids=["a command", "a shell with a child", "a command that ignores SIGTERM"],
)
def test_cancelling_stops_the_command_before_the_task_ends(script, tmp_path):
    pid_file = tmp_path / "pid"

    async def cancelled() -> int:
        words = ["sh", "-c", f"echo $$ > {pid_file}; {script}"]
        task = asyncio.create_task(arun(words, limit=50, kill_after=0.3))
        pid = await pid_in(pid_file)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    assert not is_running(asyncio.run(cancelled()))


def test_a_cancelled_command_is_neither_charged_nor_stored(with_store, tmp_path):
    async def cancelled():
        words = ["sh", "-c", f"seq 1 5000; echo $$ > {tmp_path}/pid; exec sleep 60"]
        task = asyncio.create_task(arun(words, limit=100, session="work"))
        await pid_in(tmp_path / "pid")
        task.cancel()
        await asyncio.wait([task])

    with open_session("work", total=1000) as budget:
        asyncio.run(cancelled())
        assert (budget.remaining, budget.usage_fraction) == (1000, 0.0)
    assert not list(with_store.glob("spill/??/*"))
