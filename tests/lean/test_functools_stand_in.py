"""Sessions need SQLite, and SQLite needs one function of `functools`: that is all they load of it."""

import functools
import random
import subprocess
import sys
import threading

from tests.support.loading import modules_loaded_for
from tests.support.program import IMPORT_PATH
from tokcap.lean.functools_stand_in import NAME, FunctoolsStandIn, lru_cache


def test_a_call_in_a_session_loads_neither_functools_nor_collections(inside, with_store):
    inside("budget", "start", "work", "--total", "9000")
    loaded = modules_loaded_for("-n", "50", "--session", "work", stdin=b"short\n")
    assert "_sqlite3" in loaded
    assert loaded.isdisjoint({"functools", "collections", "operator", "sqlite3"})
    assert inside("budget", "status", "work", "-o", "json").json["data"]["used"] > 0


def test_the_cache_does_what_that_of_functools_does():
    made = {"real": [], "ours": []}

    def remember(name):
        return lambda key: made[name].append(key) or key

    real, ours = functools.lru_cache(maxsize=5)(remember("real")), lru_cache(5)(remember("ours"))
    chance = random.Random(7)
    for _ in range(500):
        key = chance.randrange(9)
        assert real(key) == ours(key)
    assert made["real"] == made["ours"]
    assert len(made["ours"]) < 500


def test_everybody_else_gets_the_real_functools():
    code = (
        "import sys; from tokcap.lean.functools_stand_in import FunctoolsStandIn\n"
        "assert 'functools' not in sys.modules\n"
        "with FunctoolsStandIn():\n"
        "    import functools; assert not hasattr(functools, 'wraps')\n"
        "assert 'functools' not in sys.modules\n"
        "import functools; assert functools.wraps\n"
        "with FunctoolsStandIn():\n"
        "    import functools; assert functools.wraps\n"
        "import functools, sqlite3; assert functools.wraps\n"
    )
    words = [sys.executable, "-S", "-c", code]
    done = subprocess.run(words, env={"PYTHONPATH": IMPORT_PATH}, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_another_thread_never_sees_the_stand_in(monkeypatch):
    monkeypatch.delitem(sys.modules, NAME)
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        with FunctoolsStandIn():
            assert NAME not in sys.modules
    finally:
        over.set()
        other.join()
