"""Compile the C modules of the package, if there is a compiler. The package works without them, only slower.

`TOKCAP_BUILD_PURE=1` leaves them out: the wheel is for every machine then. `TOKCAP_BUILD_COMPILED=1` turns a
failed compilation into an error, so that no release is slow by accident. `LDSHARED` names another compiler.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

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
        tag, flags, variables = target()
        built = {}
        for source in sorted(root.glob("tokcap/**/*.c")):
            name = source.relative_to(root).with_suffix(SUFFIX)
            if not compiled(source, place / name, flags, variables):
                return
            built[str(place / name)] = name.as_posix()
        build_data["pure_python"] = False
        if version != "editable":
            build_data["force_include"].update(built)
            build_data["tag"] = f"{TAG}-{tag}"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)


def target() -> tuple[str, list[str], dict[str, str]]:
    """Return the platform of the wheel's tag, and the compiler's flags and variables for this platform."""
    platform = sysconfig.get_platform()
    if not platform.startswith("macosx-"):
        # Not `platform` itself, which names the kernel: a 32-bit Python may run on a 64-bit one. `auditwheel`
        # replaces the tag `linux_…` by one of manylinux or musllinux.
        tags = (tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))
        return next(tags), [], {}
    # Python itself considers neither of these two variables here.
    _, release, machine = platform.split("-")
    major, _, minor = (os.environ.get("MACOSX_DEPLOYMENT_TARGET") or release).partition(".")
    if int(major) > 10:
        minor = "0"  # installers know no other tags
    machines = re.findall(r"-arch\s+(\S+)", os.environ.get("ARCHFLAGS", "")) or [machine]
    if machines == ["universal2"] or len(machines) > 1:
        machine, machines = "universal2", ["arm64", "x86_64"]
    else:
        machine = machines[0]
    flags = [word for name in machines for word in ("-arch", name)]
    return f"macosx_{major}_{minor}_{machine}", flags, {"MACOSX_DEPLOYMENT_TARGET": f"{major}.{minor}"}


def compiled(source: Path, module: Path, flags: list[str], variables: dict[str, str]) -> bool:
    """Compile one module; say why if that fails."""
    module.parent.mkdir(parents=True, exist_ok=True)
    linker = os.environ.get("LDSHARED") or sysconfig.get_config_var("LDSHARED") or "cc -shared"
    include = f"-I{sysconfig.get_path('include')}"
    command = [*shlex.split(linker), *flags, *FLAGS, include, str(source), "-o", str(module)]
    try:
        environment = os.environ | variables
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as error:
        reason = str(error)
    else:
        if done.returncode == 0:
            return True
        reason = done.stderr.strip() or f"exit status {done.returncode}"
    if os.environ.get("TOKCAP_BUILD_COMPILED"):
        raise RuntimeError(f"{source} cannot be compiled: {reason}")
    print(f"tokcap is built without {module.name}: {reason}", file=sys.stderr)
    return False
