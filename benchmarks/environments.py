"""Set up what is measured: virtualenvs for tokcap, tokcap with all extras and the peer, and a tiktoken cache.

The virtualenvs stay in a cache directory between runs. tokcap is reinstalled each time, not editable, as
the README does it. All vocabularies come from the package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

# tiktoken names a cached table by the SHA-1 of the address where it was published.
FILL_CACHE = """
import hashlib, pathlib, sys
from tests.support.vocabularies import published_table
from tokcap.tokens.embedded import NAMES
for name in NAMES:
    address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
    place = pathlib.Path(sys.argv[1], hashlib.sha1(address.encode()).hexdigest())
    if not place.exists():
        place.write_bytes(published_table(name))
"""

VERSIONS = """
import importlib.metadata, sys
print(*(f"{name} {importlib.metadata.version(name)}" for name in sys.argv[1:]), sep=", ")
"""


class SetUpFailed(Exception):
    """A virtualenv could not be made. The message is one line that names the step."""


@dataclass(frozen=True)
class Environments:
    """The programs to measure, and their environment variables."""

    tokcap_bin: Path
    # With all extras.
    extras_bin: Path
    ttok_bin: Path
    vocabularies: Path

    @property
    def python(self) -> str:
        return str(self.tokcap_bin / "python")

    @property
    def tokcap(self) -> str:
        return str(self.tokcap_bin / "tokcap")

    @property
    def tokcap_extras(self) -> str:
        return str(self.extras_bin / "tokcap")

    @property
    def ttok(self) -> str:
        return str(self.ttok_bin / "ttok")

    @property
    def ttok_python(self) -> str:
        return str(self.ttok_bin / "python")

    def variables(self, home: Path) -> dict[str, str]:
        """Return variables without the caller's settings for Python and tokcap."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TIKTOKEN_CACHE_DIR": str(self.vocabularies),
        }

    def versions(self) -> str:
        peers = said([self.ttok_python, "-c", VERSIONS, "ttok"])
        own = said([self.python, "-c", VERSIONS, "tokcap", "tiktoken"])
        extra = said([str(self.extras_bin / "python"), "-c", VERSIONS, "kitoken"])
        return f"Python {sys.version.split()[0]}, {own}, {extra}, {peers}"


def default_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base, "tokcap-benchmarks")


def set_up(cache: Path) -> Environments:
    """Create or update what the run needs."""
    own, extras = (
        installed(cache / "tokcap", str(ROOT)),
        installed(cache / "tokcap-extras", f"{ROOT}[tokenizers,plot]"),
    )
    peer = installed(cache / "ttok", "ttok")
    vocabularies = cache / "vocabularies"
    vocabularies.mkdir(exist_ok=True)
    step([str(own / "python"), "-c", FILL_CACHE, str(vocabularies)])
    return Environments(own, extras, peer, vocabularies)


def set_up_tokcap(cache: Path) -> Environments:
    """Create or update only the virtualenv of tokcap, for measurements without peers."""
    own = installed(cache / "tokcap", str(ROOT))
    return Environments(own, own, own, cache)


def installed(place: Path, package: str) -> Path:
    """Install a package with the pip that comes with Python. Return the directory of its programs."""
    pip = str(place / "bin" / "pip")
    if not os.path.exists(pip):
        step([sys.executable, "-m", "venv", str(place)])
    step([pip, "install", "-q", package])
    if package.startswith(str(ROOT)):
        # The code may have changed although the version has not.
        step([pip, "install", "-q", "--force-reinstall", "--no-deps", str(ROOT)])
    return place / "bin"


def step(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=os.path.sep, check=False)
    if done.returncode:
        reason = (done.stderr.strip() or "no message").splitlines()[-1]
        raise SetUpFailed(f"{Path(command[0]).name} {' '.join(command[1:4])} failed: {reason}")


def said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=os.path.sep, check=True)
    return done.stdout.strip()
