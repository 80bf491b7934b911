"""The C parts of standard modules, for the start-up path. No other module imports a private module of Python.

Each costs almost nothing to import; the standard module around it costs, next to 10 ms of starting Python:
`threading` 3.1 ms, `signal` 4.0 ms, `hashlib` 2.6 ms (it loads OpenSSL), `json` 2.4 ms, `ctypes` 5 ms.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    import _blake2 as blake2
    import _ctypes as ctypes
    import _json as json
    import _thread as thread
    import signal

    __all__ = ["blake2", "ctypes", "json", "signal", "thread"]

MODULES = {
    "blake2": "_blake2",
    "ctypes": "_ctypes",
    "json": "_json",
    "signal": "_signal",
    "thread": "_thread",
}


def __getattr__(name: str) -> object:
    """Import a module at its first use."""
    if name not in MODULES:
        raise AttributeError(name)
    module = globals()[name] = __import__(MODULES[name])
    return module
