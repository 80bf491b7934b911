"""The commands that add a package to this installation, or install tokcap again.

Advice must work where it is read: pipx and uv have environments without pip. Loaded only to give such advice.
"""

from __future__ import annotations

import os
import sys

from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PACKAGE = "tokcap"


class Installation(Record):
    """The commands of one installer."""

    # The command that installs into this environment, for example `/venv/bin/python -m pip install`.
    install: str
    # The one that installs tokcap again, with all that it needs.
    again: str


def installation() -> Installation:
    """Return how the running tokcap was installed."""
    prefix = os.path.realpath(sys.prefix)
    name, python = quoted(os.path.basename(prefix)), quoted(sys.executable or "python3")
    # An environment of pipx or uv is also a virtual environment.
    if os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return Installation(f"pipx inject {name}", f"pipx reinstall {name}")
    install = f"{python} -m pip install"
    if sys.prefix == sys.base_prefix:
        import sysconfig

        if os.path.exists(os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")):
            install += " --break-system-packages"
    else:
        from importlib.util import find_spec

        install = f"uv pip install --python {python}" if find_spec("pip") is None else install
    if os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return Installation(install, f"uv tool upgrade --reinstall {name}")
    return Installation(install, f"{install} --force-reinstall {quoted(source_of(distribution()))}")


def distribution() -> Distribution | None:
    """Return the metadata of the installed package; None if it is run without being installed."""
    from importlib import metadata

    try:
        return metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None


def source_of(found: Distribution | None) -> str:
    """Return the directory, file or URL that the package was installed from; else its name, for an index."""
    import json
    from urllib.parse import unquote

    try:
        direct = json.loads((found and found.read_text("direct_url.json")) or "{}")
        url = str(direct["url"])
        return f"git+{url}" if "vcs_info" in direct else unquote(url.removeprefix("file://"))
    except (ValueError, KeyError, TypeError):
        return PACKAGE


def command_to_add(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    They are named themselves, because tokcap may be on no index from which an extra could be asked for.
    """
    found = distribution()
    pairs = [text.partition(";") for text in (found.requires if found else None) or ()]
    marks = (f"extra=='{extra}'", f'extra=="{extra}"')
    named = [name.replace(" ", "") for name, _, marker in pairs if marker.replace(" ", "").endswith(marks)]
    return " ".join([installation().install, *map(quoted, named or [f"{source_of(found)}[{extra}]"])])
