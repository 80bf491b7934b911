"""Compile the C modules of the package, if there is a compiler. The package works without them, only slower.

`TOKCAP_BUILD_PURE=1` leaves them out: the wheel is for every machine then. `LDSHARED` names another compiler.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The limited interface of Python 3.11: one file works with all later versions.
SUFFIX, TAG = ".abi3.so", "cp311-abi3"
# Compilers before GCC 12 use vectors only if they are told to.
FLAGS = ("-O2", "-ftree-vectorize", "-fPIC", "-fvisibility=hidden", "-DNDEBUG")


class CompiledModules(BuildHookInterface):
    """Adds a file `NAME.abi3.so` next to each `NAME.c` of the package."""

    _made = ""

    def initialize(self, version: str, build_data: dict) -> None:
        if os.environ.get("TOKCAP_BUILD_PURE"):
            return
        root = Path(self.root)
        self._made = tempfile.mkdtemp(prefix="tokcap-build-")
        # In an editable installation the modules are next to their sources. A wheel leaves the sources alone.
        place = root if version == "editable" else Path(self._made)
        built = {}
        for source in sorted(root.glob("tokcap/**/*.c")):
            name = source.relative_to(root).with_suffix(SUFFIX)
            if not compiled(source, place / name):
                return
            built[str(place / name)] = name.as_posix()
        build_data["pure_python"] = False
        if version != "editable":
            build_data["force_include"].update(built)
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"{TAG}-{platform}"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)


def compiled(source: Path, module: Path) -> bool:
    """Compile one module; say why if that fails."""
    module.parent.mkdir(parents=True, exist_ok=True)
    linker = os.environ.get("LDSHARED") or sysconfig.get_config_var("LDSHARED") or "cc -shared"
    include = f"-I{sysconfig.get_path('include')}"
    command = [*shlex.split(linker), *FLAGS, include, str(source), "-o", str(module)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        reason = str(error)
    else:
        if done.returncode == 0:
            return True
        reason = done.stderr.strip() or f"exit status {done.returncode}"
    print(f"tokcap is built without {module.name}: {reason}", file=sys.stderr)
    return False
