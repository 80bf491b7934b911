"""How this program was installed, and the commands of that installer that add or repair packages.

Advice must work where it is read: pipx and uv have environments without pip. Loaded only to give such advice.
"""

from __future__ import annotations

import os
import sys

from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from importlib.metadata import Distribution
    from typing import Any

PACKAGE = "tokcap"


class Installation(Record):
    """The commands of one installer."""

    # The command that installs into this environment, for example `/venv/bin/python -m pip install`.
    install: str
    # The one that installs tokcap again, with all that it needs.
    again: str
    # What the first command must name besides new packages: uv removes what is not named again.
    also: tuple[str, ...] = ()
    # What stands before each package.
    option: str = ""

    def add(self, *requirements: str) -> str:
        """Return the command that adds packages."""
        words = [self.option + quoted(one) for one in requirements]
        return " ".join([self.install, *self.also[:-1], *words, *self.also[-1:]])


def installation() -> Installation:
    """Return how the running tokcap was installed."""
    prefix = os.path.realpath(sys.prefix)
    source, editable = source_of(distribution())
    name = quoted(os.path.basename(prefix))
    # Asked first: an environment of uv or pipx is also a virtual environment.
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return Installation(f"pipx inject {name}", f"pipx reinstall {name}")
    own = ("-e " if editable else "") + quoted(source)
    receipt = os.path.join(prefix, "uv-receipt.toml")
    if os.path.exists(receipt):
        extras, others = requirements_in(receipt)
        added = tuple(f"--with {quoted(other)}" for other in others)
        own = ("-e " if editable else "") + quoted(source + extras)
        again = f"uv tool upgrade --reinstall {name}"
        return Installation("uv tool install", again, (*added, own), "--with ")
    install = pip_command()
    return Installation(install, f"{install} --force-reinstall {own}")


def pip_command() -> str:
    """Return the command of pip, or of uv if the environment has no pip."""
    from importlib.util import find_spec

    python = quoted(sys.executable or "python3")
    if sys.prefix != sys.base_prefix:
        return f"uv pip install --python {python}" if find_spec("pip") is None else f"{python} -m pip install"
    import site
    import sysconfig

    # Outside of environments the system or the user has the packages.
    words = [python, "-m pip install"]
    found = distribution()
    if found is not None and str(found.locate_file("")).startswith(site.getusersitepackages()):
        words.append("--user")
    if os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")):
        words.append("--break-system-packages")
    return " ".join(words)


def requirements_in(receipt: str) -> tuple[str, list[str]]:
    """Return the extras of tokcap and the other packages that a receipt of uv names."""
    import tomllib

    try:
        with open(receipt, "rb") as file:
            listed = tomllib.load(file)["tool"]["requirements"]
        others = [spelled(one) for one in listed if one["name"] != PACKAGE]
        return next((extras_of(one) for one in listed if one["name"] == PACKAGE), ""), others
    except (OSError, ValueError, KeyError, TypeError):
        # The format of a later uv.
        return "", []


def spelled(requirement: dict[str, Any]) -> str:
    """Return a requirement of a receipt as the command line takes it."""
    for key in ("directory", "path", "editable"):
        if key in requirement:
            return str(requirement[key]) + extras_of(requirement)
    at = " @ " + requirement["url"] if "url" in requirement else ""
    return f"{requirement['name']}{extras_of(requirement)}{requirement.get('specifier', at)}"


def extras_of(requirement: dict[str, Any]) -> str:
    extras = requirement.get("extras")
    return f"[{','.join(extras)}]" if extras else ""


def distribution() -> Distribution | None:
    """Return the metadata of the installed package; None if it is run without being installed."""
    from importlib import metadata

    try:
        return metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def source_of(found: Distribution | None) -> tuple[str, bool]:
    """Return where the package came from, and whether the installation is editable."""
    import json
    from urllib.parse import unquote, urlsplit

    try:
        direct = json.loads((found and found.read_text("direct_url.json")) or "{}")
        url, editable = direct["url"], bool(direct.get("dir_info", {}).get("editable"))
        parts = urlsplit(url)
    except (ValueError, KeyError, TypeError, AttributeError):
        return checkout() or PACKAGE, False
    if "vcs_info" in direct:
        return f"{direct['vcs_info'].get('vcs', 'git')}+{url}", False
    return (unquote(parts.path) if parts.scheme == "file" else url), editable


def checkout() -> str:
    """Return the checkout that the package is in, or an empty string."""
    directory = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return directory if os.path.exists(os.path.join(directory, "pyproject.toml")) else ""


def command_to_add(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    They are named themselves, because tokcap may be on no index from which an extra could be asked for.
    """
    found = distribution()
    pairs = [text.partition(";") for text in (found.requires if found else None) or ()]
    marks = (f"extra=='{extra}'", f'extra=="{extra}"')
    named = [name.replace(" ", "") for name, _, marker in pairs if marker.replace(" ", "").endswith(marks)]
    return installation().add(*(named or [f"{source_of(found)[0]}[{extra}]"]))
