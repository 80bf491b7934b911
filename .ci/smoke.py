"""Try an installation as its first user would. Run this with the Python of the environment to try:

    PREFIX/bin/python .ci/smoke.py

The programs run, the compiled modules are used, and the man pages and completions are there.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tokcap

PREFIX = Path(sys.prefix)
FILES = (
    *(f"bin/{name}" for name in ("tokcap", "tokcap-sh", "tokcap-bash", "tokcap-zsh")),
    *(f"share/man/{name}" for name in ("man1/tokcap.1", "man1/tokcap-show.1", "man5/tokcap-json.5")),
    "share/bash-completion/completions/tokcap",
    "share/zsh/site-functions/_tokcap",
    "share/fish/vendor_completions.d/tokcap.fish",
)
LIMIT_TOKENS = 200


def main() -> None:
    package = Path(tokcap.__file__).parent
    assert package.is_relative_to(PREFIX), f"{package} is not the installed package"
    missing = [name for name in FILES if not (PREFIX / name).stat().st_size]
    assert not missing, missing
    with tempfile.TemporaryDirectory() as home:
        try_programs(home)
    used = try_compiled_modules(package)
    print(f"tokcap {tokcap.__version__} works with Python {sys.version.split()[0]}, compiled: {used}")


def try_programs(home: str) -> None:
    """Cap, page, keep JSON valid, print an envelope, and run a shell, each in a process."""
    # None of the caller's settings.
    environment = {"HOME": home, "PATH": os.environ["PATH"], "TOKCAP_DATA_DIR": f"{home}/data"}

    def run(program: str, *words: str, given: str = "", status: int = 0) -> str:
        command = [PREFIX / "bin" / program, *words]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, check=False, env=environment, cwd=home
        )
        assert done.returncode == status, done
        return done.stdout

    assert run("tokcap", "--version").split() == ["tokcap", importlib.metadata.version("tokcap")]
    limit = ["-n", str(LIMIT_TOKENS)]
    cut = run("tokcap", *limit, "--", "sh", "-c", "seq 1 100000; exit 3", status=3)
    assert tokcap.count(cut) <= LIMIT_TOKENS, cut
    *lines, mark = cut.splitlines()
    way = re.fullmatch(r"\[TRUNCATED\] .* tokens; tokcap show (\S+@\d+)", mark)
    assert way, mark
    page = run("tokcap", "show", way[1], *limit).splitlines()
    assert int(page[0]) == int(lines[-1]) + 1, page
    assert isinstance(json.loads(run("tokcap", *limit, given=json.dumps(list(range(1000))))), list)
    envelope = json.loads(run("tokcap", *limit, "-o", "json", "-c", "echo hello"))
    assert envelope["ok"], envelope
    assert envelope["data"] == ["hello\n"], envelope
    assert run("tokcap-sh", "-c", "echo hello") == "hello\n"


def try_compiled_modules(package: Path) -> str:
    """Return the names of the compiled modules that are in use."""
    built = sorted(path.relative_to(package).parent.name for path in package.glob("**/_native.abi3.so"))
    assert built == ["tokens"], built
    assert "tokcap.tokens._native" in sys.modules, "counting has not used compiled code"
    return ", ".join(name for name in built if f"tokcap.{name}._native" in sys.modules)


main()
