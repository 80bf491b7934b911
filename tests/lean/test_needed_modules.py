"""The importer of the program knows what its large modules import. Run this module to print it."""

import subprocess
import sys

import pytest

from tests.support.program import ROOT
from tokcap.lean.own_modules import NEEDED_BY

# Imports a module as the program does. Prints the modules that the standard importer has run, in the order in
# which they were complete, and then all modules that are new.
IMPORT = """
import sys
from tokcap.lean import own_modules
{before}
by_standard = []
run_module = own_modules.CachedModule.exec_module

def exec_module(self, module):
    run_module(self, module)
    by_standard.append(module.__name__)

own_modules.CachedModule.exec_module = exec_module
own_modules.install()
__import__({parent!r})
by_standard.clear()
known = set(sys.modules)
__import__({name!r})
print(*by_standard)
print(*(set(sys.modules) - known))
"""


def imported(name: str, before: str = "") -> tuple[list[str], set[str]]:
    """Return the modules of tokcap that the standard importer has loaded, in order, and all new ones."""
    code = IMPORT.format(name=name, parent=name.rpartition(".")[0], before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT, text=True)
    by_standard, new = done.stdout.split("\n")[:2]
    return by_standard.split(), {module for module in new.split() if module.startswith("tokcap.")}


def listed(names: list[str]) -> list[str]:
    """Return all but the modules that their own package imports: these cannot be loaded before it."""
    return [
        name
        for place, name in enumerate(names)
        if not any(name.startswith(f"{package}.") for package in names[place + 1 :])
    ]


@pytest.mark.parametrize("name", NEEDED_BY)
def test_what_a_large_module_needs_is_loaded_before_it_and_nothing_else(name):
    by_standard, new = imported(name)
    everything, _ = imported(name, "own_modules.NEEDED_BY.clear()")
    assert set(by_standard).isdisjoint(listed(everything)[:-1])
    assert new == set(everything)


@pytest.mark.parametrize("name", NEEDED_BY)
def test_modules_look_as_if_the_standard_importer_had_loaded_them(name):
    look = (
        f"import sys, {name}\n"
        "for name, module in sorted(sys.modules.items()):\n"
        "    if name.startswith('tokcap.'):\n"
        "        spec = module.__spec__\n"
        "        print(name, module.__file__, module.__package__, getattr(module, '__path__', None),\n"
        "              spec.name, spec.origin, spec.parent, vars(sys.modules[spec.parent]).get(name))\n"
    )
    plain, own = (
        subprocess.check_output([sys.executable, "-c", before + look], cwd=ROOT).decode().splitlines()
        for before in (
            "import tokcap.lean.own_modules\n",
            "import tokcap.lean.own_modules as own; own.install()\n",
        )
    )
    assert own == plain


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
        needed, _ = imported(needing, "own_modules.NEEDED_BY.clear()")
        print(needing, *(module.removeprefix("tokcap.") for module in listed(needed)[:-1]))
