"""Compiled code for large texts, if the package was built with a compiler. Small texts do not load it."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType


def compiled_code() -> ModuleType | None:
    """Return the module `_native`; None if the package has none."""
    try:
        from tokcap.findings import _native
    except ImportError:
        return None
    return _native
