"""Recognize errors that mean a lack of descriptors, memory or processes; all others are defects of tokcap.

Loaded before all other modules, because loading them may fail for the same reason.
"""

from __future__ import annotations

import os

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.errors import TokcapError

# What Python raises when it has no memory for a `MemoryError`: a function failed without an error, or a
# module that is compiled has errors.
MISTAKEN = (SystemError, SyntaxError)


def shortage_of(error: BaseException) -> str:
    """Return one line that says what is missing; empty if the error has another cause."""
    if isinstance(error, MemoryError):
        return "not enough memory; raise the limit (see ulimit -v)"
    if isinstance(error, MISTAKEN):
        return f"not enough memory, or a defect of Python ({error}); raise the limit (see ulimit -v)"
    if isinstance(error, OSError) and is_shortage(error.errno):
        return f"{os.strerror(error.errno or 0)}; raise the limit (see ulimit -a)"
    if isinstance(error, ImportError):
        from errno import EMFILE, ENOMEM

        # Messages of the dynamic loader.
        no_room = ("failed to map segment", os.strerror(ENOMEM), os.strerror(EMFILE))
        if any(words in str(error) for words in no_room):
            return f"not enough memory or descriptors to load {error.name} (see ulimit -a)"
    return ""


def is_shortage(number: int | None) -> bool:
    """Return whether a number of an `OSError` means a shortage."""
    # A part of the interpreter, so it can be imported even then: no file is opened for it.
    from errno import EAGAIN, EMFILE, ENFILE, ENOMEM

    return number in (EMFILE, ENFILE, ENOMEM, EAGAIN)


def free_memory(error: BaseException) -> None:
    """Free what the failed functions hold, if they lacked memory: handling the error needs some."""
    if isinstance(error, (MemoryError, *MISTAKEN)):
        error.__traceback__ = error.__context__ = error.__cause__ = None


def problem_of(error: Exception) -> TokcapError:
    """Return an error of tokcap as it is; any other one as an internal error, with its place."""
    from tokcap.errors import TokcapError

    if isinstance(error, TokcapError):
        return error
    return TokcapError(
        shortage_of(error) or f"internal error: {place_of(error)}{type(error).__name__}: {error}"
    )


def place_of(error: BaseException) -> str:
    """Return file and line in which an error was raised. A traceback would not help users."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename.rpartition("/")[2]
    return f"{name}:{trace.tb_lineno}: "
