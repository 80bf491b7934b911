"""BLAKE2 comes from the module of the interpreter, else from `hashlib`."""

import subprocess
import sys

from tests.support.program import ROOT

FAIL = """
import builtins, sys
find = builtins.__import__

def fail(name, importing=None, *more):
    if name == "_blake2" and importing["__name__"] == "tokcap.lean.digest":
        raise {error}
    return find(name, importing, *more)

builtins.__import__ = fail
try:
    from tokcap.lean.digest import blake2b
    print(blake2b(b"", digest_size=4).hexdigest())
except ImportError as error:
    print(error)
print("hashlib" in sys.modules)
"""


def digest_when(error: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", FAIL.format(error=error)], capture_output=True, check=True, cwd=ROOT, text=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_python_without_the_module_uses_hashlib():
    assert digest_when("ModuleNotFoundError('no module', name='_blake2')")[1] == "True"


def test_a_module_that_cannot_be_loaded_for_lack_of_memory_is_reported_as_that():
    """`hashlib` would log a traceback for each of its algorithms."""
    said = "_blake2.so: failed to map segment from shared object"
    assert digest_when(f"ImportError({said!r})") == [said, "False"]
