"""The importer of the program knows what its large modules import. Run this module to print it."""

import functools
import subprocess
import sys

from tests.support.program import ROOT
from tokcap.lean.own_modules import NEEDED_BY

# Imports each module as the program does, in a process of its own. Prints the modules that the standard
# importer has run, in the order in which they were complete, then all modules that are new, then their looks.
IMPORT = """
import os, sys
from tokcap.lean import own_modules
{before}
by_standard = []
run_module = own_modules.CachedModule.exec_module

def exec_module(self, module):
    run_module(self, module)
    by_standard.append(module.__name__)

own_modules.CachedModule.exec_module = exec_module
for name in sys.argv[1:]:
    sys.stdout.flush()
    if os.fork():
        os.wait()
        continue
    {install}
    __import__(name.rpartition(".")[0])
    by_standard.clear()
    known = set(sys.modules)
    __import__(name)
    new = set(sys.modules) - known
    print(*by_standard)
    print(*(name for name in new if name.startswith("tokcap.")))
    looks = []
    for name, module in sorted(sys.modules.items()):
        if name.startswith("tokcap."):
            spec = module.__spec__
            place = getattr(module, "__path__", None)
            found = vars(sys.modules[spec.parent]).get(name)
            looks += [name, module.__file__, module.__package__, place, spec.name, spec.origin, found]
    print(looks)
    sys.exit()
"""


@functools.cache
def imported(before: str = "", install: str = "own_modules.install()") -> dict[str, tuple]:
    """Return by name: what the standard importer has loaded, in order, all new modules, and their looks."""
    code = IMPORT.format(before=before, install=install)
    done = subprocess.run(
        [sys.executable, "-c", code, *NEEDED_BY], capture_output=True, check=True, cwd=ROOT, text=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 3 * len(NEEDED_BY), done.stderr
    return {
        name: (lines[3 * place].split(), set(lines[3 * place + 1].split()), lines[3 * place + 2])
        for place, name in enumerate(NEEDED_BY)
    }


WITHOUT_THE_TABLE = "own_modules.NEEDED_BY.clear()"


def listed(names: list[str]) -> list[str]:
    """Return all but the modules that their own package imports: these cannot be loaded before it."""
    return [
        name
        for place, name in enumerate(names)
        if not any(name.startswith(f"{package}.") for package in names[place + 1 :])
    ]


def test_what_a_large_module_needs_is_loaded_before_it_and_nothing_else():
    all_at_once, one_by_one = imported(), imported(WITHOUT_THE_TABLE)
    for name in NEEDED_BY:
        by_standard, new, _ = all_at_once[name]
        everything, _, _ = one_by_one[name]
        assert set(by_standard).isdisjoint(listed(everything)[:-1]), name
        assert new == set(everything), name


def test_modules_look_as_if_the_standard_importer_had_loaded_them():
    plain, own = imported(install="pass"), imported()
    for name in NEEDED_BY:
        assert own[name][2] == plain[name][2], name


def test_a_module_that_fails_is_not_left_half_loaded():
    code = (
        "import sys\n"
        "from tokcap.lean import own_modules\n"
        "own_modules.install()\n"
        "sys.modules['tokcap.core.request'] = None\n"
        "try:\n"
        "    import tokcap.pipeline\n"
        "except ImportError:\n"
        "    print(*(name for name in sys.modules if name == 'tokcap.pipeline'))\n"
        "del sys.modules['tokcap.core.request']\n"
        "import tokcap.pipeline\n"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT) == b"\n"


if __name__ == "__main__":
    for needing in NEEDED_BY:
        needed, _, _ = imported(WITHOUT_THE_TABLE)[needing]
        print(needing, *(module.removeprefix("tokcap.") for module in listed(needed)[:-1]))
