"""Compile the C modules of the package, if there is a compiler. The package works without them, only slower.

`TOKCAP_BUILD_PURE=1` leaves them out: the wheel is for every machine then.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The limited interface of Python 3.11: one file works with all later versions.
SUFFIX, TAG = ".abi3.so", "cp311-abi3"
FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden", "-DNDEBUG")


class CompiledModules(BuildHookInterface):
    """Adds a file `NAME.abi3.so` next to each `NAME.c` of the package."""

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        built = [source.with_suffix(SUFFIX) for source in sorted(root.glob("tokcap/**/*.c"))]
        for module in built:
            module.unlink(missing_ok=True)
        if os.environ.get("TOKCAP_BUILD_PURE") or not all(map(self._compiled, built)):
            return
        build_data["pure_python"] = False
        build_data["artifacts"] += [f"/{module.relative_to(root).as_posix()}" for module in built]
        if version != "editable":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["tag"] = f"{TAG}-{platform}"

    def _compiled(self, module: Path) -> bool:
        """Compile one module; say why if that fails."""
        source = module.with_suffix("").with_suffix(".c")
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
