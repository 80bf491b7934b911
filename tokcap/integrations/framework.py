"""What the integration needs to know about a command-line framework, and the table of known frameworks."""

from __future__ import annotations

import sys
from importlib import import_module

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Framework(Record):
    """How a framework declares options, and how its programs end."""

    # The added flags, as parameters of this framework. All commands share them.
    flags: Sequence[Any]
    # The base class of errors that the framework prints, and that of errors in the command line.
    shown_error: type[Any]
    usage_error: type[Any]
    # Raised to end the program with an exit status, and to abort it.
    exit: type[Any]
    abort: type[Exception]
    # The exit status after Ctrl-C.
    interrupted_status: int


class KnownFramework(Record):
    """Recognizes the commands of one framework without importing it."""

    # The module that defines the command classes, and their names.
    module: str
    command_classes: tuple[str, ...]
    # Our module with a function `framework(tokenizer)` that returns the `Framework`.
    adapter: str


# Typer first: in some versions its commands are Click commands too.
FRAMEWORKS = (
    KnownFramework("typer.core", ("TyperCommand", "TyperGroup"), "tokcap.integrations.typer_framework"),
    KnownFramework("click", ("Command",), "tokcap.integrations.click_framework"),
)


def framework_of(command: object, tokenizer: str) -> Framework | None:
    """Return the framework of a command, or None. `tokenizer` is the default that help shows."""
    for known in FRAMEWORKS:
        if any(is_instance(command, known.module, name) for name in known.command_classes):
            found: Framework = import_module(known.adapter).framework(tokenizer)
            return found
    return None


def is_instance(thing: object, module: str, name: str) -> bool:
    """Return whether `thing` is an instance of a class, without importing the module of the class."""
    cls = getattr(sys.modules.get(module), name, None)
    return cls is not None and isinstance(thing, cls)
