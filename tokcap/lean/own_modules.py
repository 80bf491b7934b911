"""Import tokcap's own modules with few system calls, from the bytecode that Python has cached.

A call imports some fifty small modules. The standard importer searches a directory for each, and tries every
kind of file a module can be; that takes longer than running the modules. It also takes locks, looks in many
places and checks much for each module; so what a large module needs is loaded before it, without all that.
Only the program installs this importer. Modules that it does not find are left to the standard importer.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, ExtensionFileLoader, SourceFileLoader
from _imp import _fix_co_filename  # type: ignore[attr-defined]  # what the standard importer calls
from _thread import _count as count_other_threads
from marshal import loads

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

PACKAGE = os.path.dirname(os.path.dirname(__file__))
PREFIX = "tokcap."
CACHED = f".{sys.implementation.cache_tag}.pyc"
# What compiled modules are called (see `hatch_build.py`).
NATIVE, NATIVE_SUFFIX = "._native", ".abi3.so"
# A cached file starts with a magic number, flags, and the time and size of its source: four bytes each.
HEADER_BYTES = 16
MAGIC_AND_NO_FLAGS = MAGIC_NUMBER + bytes(4)
# The places of size and time in what `os.stat` returns. The attribute of the time is a float.
SIZE, MODIFIED = 6, 8
# All packages. To look on disk whether a name is one would cost a system call for each module.
PACKAGES = (
    "api budget cli cli.commands cli.completions cli.config cli.manpages core doctor filters findings "
    "forms hooks integrations keep lean mcp mcp.wrap shapes shapes.json_text source steps store system "
    "tokens tokens.sources usage"
)
# What each of these modules imports, in the order in which they need each other.
# `python -m tests.lean.test_needed_modules` prints it.
NEEDED_BY = {
    "tokcap.__main__": (
        "system system.shortage exits cli cli.kinds core core.request lean.table forms keep shapes "
        "cli.options cli.words errors cli.values cli.arguments system.descriptors environment"
    ),
    "tokcap.pipeline": (
        "core core.notice exits errors core.request lean.table forms steps tokens usage usage.usage_log "
        "steps.usage_notes core.response core.tokenizer shapes steps.answer core.spool steps.capture "
        "steps.inputs steps.delivery system system.descriptors environment filters keep "
        "steps.destinations steps.opening system.shortage"
    ),
    "tokcap.source.command": (
        "exits errors system system.descriptors environment source.process source.launch "
        "source.connections source.forwarding system.threads source.signal_watch source.termination"
    ),
    "tokcap.steps.charging": (
        "core core.notice exits errors lean.table budget budget.modes budget.arithmetic core.request "
        "forms steps.allowance"
    ),
    "tokcap.budget.sqlite": (
        "budget.modes budget.arithmetic lean.functools_stand_in system system.descriptors "
        "system.private_files budget.database budget.schema budget.presence system.proc budget.holder "
        "budget.tables"
    ),
    "tokcap.steps.metering": (
        "core core.tokenizer exits errors core.spool core.request lean.table shapes shapes.beginning "
        "tokens tokens.chunks steps.live"
    ),
    "tokcap.steps.live": (
        "core exits errors core.spool core.tokenizer core.request lean.table shapes shapes.beginning "
        "tokens tokens.chunks"
    ),
    "tokcap.steps.examination": (
        "core core.cut core.notice core.request exits lean.table keep keep.head shapes errors tokens"
    ),
    "tokcap.steps.continuation": (
        "core core.notice core.request exits errors system system.descriptors environment lean.table "
        "shapes store store.base store.handles"
    ),
    "tokcap.shapes.text": "core.cut core.tokenizer core.mark shapes.text_window",
    "tokcap.tokens.index": "core core.tokenizer tokens.checkpoints tokens.chunks",
    "tokcap.tokens.native_text": "tokens.buckets core core.tokenizer tokens.embedded",
    "tokcap.tokens.small_text": "lean.patterns tokens.buckets core core.tokenizer tokens.embedded",
    "tokcap.shapes.text_survey": "core.cut core.tokenizer core.mark shapes.line_map",
    "tokcap.keep.focused_call": (
        "core core.cut findings findings.found lean.patterns findings.rules findings.columns "
        "findings.draft findings.false_friends findings.explain findings.words findings.groups "
        "findings.judge findings.structure findings.examine findings.weigh findings.survey "
        "keep.shown_lines keep.attention"
    ),
    "tokcap.store.digest": "lean.digest",
    "tokcap.store.local": (
        "exits errors store.base store.handles lean.digest core core.request store.record system "
        "system.descriptors system.private_files store.local_layout store.local_draft"
    ),
    "tokcap.store.local_cleaning": (
        "exits errors store.base lean.digest store.handles core core.request store.record system "
        "system.descriptors system.private_files store.local_layout store.retention"
    ),
}
IS_PACKAGE = frozenset(PACKAGES.split())
# No cached file of tokcap is larger. A larger buffer would be mapped and unmapped for each file.
READ_BYTES = 1 << 16


Module = type(sys)


class CachedModule(SourceFileLoader):
    """Loads one module, whose source file was found."""

    def __init__(self, name: str, path: str, source: os.stat_result, cached: str) -> None:
        # As the standard loader does. Calling its `__init__` would take longer.
        self.name = name
        self.path = path
        self._source = source
        self._cached = cached

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the cached bytecode if it belongs to the source, else use the standard loader."""
        try:
            file = os.open(self._cached, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return super().get_code(fullname)
        try:
            data = os.read(file, READ_BYTES)
        except OSError:
            return super().get_code(fullname)
        finally:
            os.close(file)
        size, modified = int(self._source[SIZE]) & 0xFFFFFFFF, int(self._source[MODIFIED]) & 0xFFFFFFFF
        if data[:HEADER_BYTES] != MAGIC_AND_NO_FLAGS + (size << 32 | modified).to_bytes(8, "little"):
            return super().get_code(fullname)
        try:
            code: CodeType = loads(memoryview(data)[HEADER_BYTES:])  # noqa: S302  # as every import does
            _fix_co_filename(code, self.path)
        except (EOFError, TypeError, ValueError):
            # Damaged, or longer than one read returned. Python reads it again and reports what is wrong.
            return super().get_code(fullname)
        return code


class OwnModules:
    """Finds modules of the package by the names of their files."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(PREFIX):
            return None
        load_needed_by(name)
        short_name = name[len(PREFIX) :]
        place = f"{PACKAGE}/{short_name.replace('.', '/')}"
        if name.endswith(NATIVE):
            file = place + NATIVE_SUFFIX
            found = os.access(file, os.F_OK)
            return ModuleSpec(name, ExtensionFileLoader(name, file), origin=file) if found else None
        is_package = short_name in IS_PACKAGE
        directory, _, own_name = (place + "/__init__" if is_package else place).rpartition("/")
        file = f"{directory}/{own_name}.py"
        try:
            source = os.stat(file)
        except OSError:
            # Python finds it, if there is one.
            return None
        cached = f"{directory}/__pycache__/{own_name}{CACHED}"
        spec = ModuleSpec(name, CachedModule(name, file, source, cached), origin=file, is_package=is_package)
        spec.has_location = True
        # Python would compute it for each module.
        spec.cached = cached
        if is_package:
            spec.submodule_search_locations = [place]
        return spec


def load_needed_by(needing: str) -> None:
    """Load what a module needs, as the standard importer would with `OwnModules`."""
    # Another thread could see a module before it is complete.
    if needing not in NEEDED_BY or count_other_threads():
        return
    loaded = sys.modules
    for short_name in NEEDED_BY[needing].split():
        name = PREFIX + short_name
        if name in loaded:
            continue
        spec = OwnModules.find_spec(name)
        if spec is None:
            # The import statement reports it.
            return
        loader, places = spec.loader, spec.submodule_search_locations
        parent, _, own_name = name.rpartition(".")
        module = loaded[name] = Module(name)
        values = module.__dict__
        values.update(__spec__=spec, __loader__=loader, __file__=spec.origin, __package__=parent)
        if places is not None:
            values.update(__package__=name, __path__=places)
        try:
            exec(loader.get_code(name), values)  # type: ignore[union-attr]  # see `find_spec`  # noqa: S102
        except BaseException:
            loaded.pop(name, None)
            raise
        setattr(loaded[parent], own_name, module)


def install() -> None:
    """Use this importer for the rest of the process, unless Python keeps its bytecode elsewhere."""
    if not (sys.flags.optimize or sys.pycache_prefix):
        sys.meta_path.insert(0, OwnModules)
