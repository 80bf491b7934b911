"""How this program was installed, and the commands of that installer that add or repair packages.

Advice must work where it is read: pipx and uv have environments without pip. Loaded only to give such advice.
"""

from __future__ import annotations

import os
import sys

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import Distribution
    from typing import Any

PACKAGE = "tokcap"


class Installation(Record):
    """An installation by pip, in a virtual environment or for a user. The base of the others."""

    # The checkout, wheel or URL that it was installed from; the bare name if it came from an index.
    source: str = PACKAGE
    editable: bool = False
    # The command that installs into this environment: `/venv/bin/python -m pip install`.
    install: str = "pip install"

    def add(self, *requirements: str) -> str:
        """Return the command that adds packages."""
        return " ".join([self.install, *map(quoted, requirements)])

    def repair(self, requirement: str) -> str:
        """Return the command that installs a package again that tokcap needs."""
        return f"{self.install} --force-reinstall {quoted(requirement)}"

    def reinstall(self, *, dependencies: bool = False) -> str:
        """Return the command that installs tokcap again, alone or with all that it needs."""
        words = [self.install, "--force-reinstall"]
        if not dependencies:
            words.append("--no-deps")
        return " ".join([*words, *self._source_words()])

    def _source_words(self) -> list[str]:
        return ["-e", quoted(self.source)] if self.editable else [quoted(self.source)]


class PipxInstallation(Installation):
    """An environment of pipx."""

    # The name of the environment, which can have a suffix.
    name: str = PACKAGE

    def add(self, *requirements: str) -> str:
        return " ".join(["pipx inject", quoted(self.name), *map(quoted, requirements)])

    def repair(self, requirement: str) -> str:
        return self.reinstall()

    def reinstall(self, *, dependencies: bool = False) -> str:
        return f"pipx reinstall {quoted(self.name)}"


class UvToolInstallation(PipxInstallation):
    """An environment of `uv tool`."""

    # What was added before: uv removes what is not named again.
    others: tuple[str, ...] = ()

    def add(self, *requirements: str) -> str:
        words = ["uv tool install"]
        for requirement in dict.fromkeys((*self.others, *requirements)):
            words += ["--with", quoted(requirement)]
        return " ".join([*words, *self._source_words()])

    def reinstall(self, *, dependencies: bool = False) -> str:
        return f"uv tool upgrade --reinstall {quoted(self.name)}"


def pipx_installation(prefix: str) -> Installation | None:
    if not os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return None
    return PipxInstallation(name=os.path.basename(prefix))


def uv_tool_installation(prefix: str) -> Installation | None:
    """Return an environment of `uv tool`, with the packages that its receipt names."""
    try:
        with open(os.path.join(prefix, "uv-receipt.toml"), "rb") as file:
            data = file.read()
    except OSError:
        return None
    import tomllib

    source, editable = source_of(distribution())
    try:
        listed = tomllib.loads(data.decode())["tool"]["requirements"]
        others = tuple(spelled(one) for one in listed if one["name"] != PACKAGE)
        extras = next((extras_of(one) for one in listed if one["name"] == PACKAGE), "")
    except (ValueError, KeyError, TypeError):
        # The format of a later uv.
        others, extras = (), ""
    return UvToolInstallation(source + extras, editable, name=os.path.basename(prefix), others=others)


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


def plain_installation(prefix: str) -> Installation:
    """Return an installation by pip, or by uv if the environment has no pip."""
    from importlib.util import find_spec

    python = quoted(sys.executable or "python3")
    found = distribution()
    source, editable = source_of(found)
    if find_spec("pip") is None and prefix != sys.base_prefix:
        return Installation(source, editable, f"uv pip install --python {python}")
    words = [python, "-m pip install"]
    if prefix == sys.base_prefix:
        words += options_outside_of_environments(found)
    return Installation(source, editable, " ".join(words))


def options_outside_of_environments(found: Distribution | None) -> list[str]:
    """Return what pip wants to hear where the system or the user has the packages."""
    import site
    import sysconfig

    options = []
    if found is not None and str(found.locate_file("")).startswith(site.getusersitepackages()):
        options.append("--user")
    if os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")):
        options.append("--break-system-packages")
    return options


# Asked in this order: an environment of uv or pipx is also a virtual environment.
INSTALLERS: tuple[Callable[[str], Installation | None], ...] = (pipx_installation, uv_tool_installation)


def installation() -> Installation:
    """Return how the running tokcap was installed."""
    prefix = os.path.realpath(sys.prefix)
    for find in INSTALLERS:
        if found := find(prefix):
            return found
    return plain_installation(sys.prefix)


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


def requirements_of(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra, as an installer takes them.

    They are named themselves, because tokcap may be on no index from which an extra could be asked for.
    """
    found = distribution()
    pairs = [text.partition(";") for text in (found.requires if found else None) or ()]
    marks = (f"extra=='{extra}'", f'extra=="{extra}"')
    named = [name.replace(" ", "") for name, _, marker in pairs if marker.replace(" ", "").endswith(marks)]
    return tuple(named) or (f"{source_of(found)[0]}[{extra}]",)


def command_to_add(extra: str) -> str:
    """Return the command that installs the packages of an extra."""
    return installation().add(*requirements_of(extra))
