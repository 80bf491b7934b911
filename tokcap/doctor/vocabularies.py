"""The embedded vocabularies: restored to the published tables and compared, and what is made from them."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, ok, wrong
from tokcap.lean.patterns import ENGINES, READY_FILE
from tokcap.steps.patterns import ready_patterns
from tokcap.system.quoting import quoted
from tokcap.tokens import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

# Of the tables as they were published.
TABLES = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
# Of the same tokens in buckets. Making these anew takes a second, a digest of them none.
BUCKETS = {
    "cl100k_base": "4b316d314fd6f8f116628b007c6cff480f33c0f92f8080e9d305f23de153fcbb",
    "o200k_base": "4efd1d6a8aa23af8a9b587499754ed49b05ed676d6f6861f94faaa41f9188ec7",
}


def check(_env: Environment) -> Iterator[Finding]:
    """Each table, and its buckets; then the patterns that need no compiling."""
    for name in vocabulary.EMBEDDED:
        yield table(name)
        yield made_file(f"{name}.buckets", BUCKETS[name])
    yield patterns()


def table(name: str) -> Finding:
    """Whether an embedded table is the published one, token for token."""
    file = f"{name}.vocab"
    try:
        loaded = vocabulary.load(name)
        digest = hashlib.sha256(loaded.published_table()).hexdigest()
    except (OSError, ValueError) as error:
        return wrong(file, f"cannot be read: {error}", reinstall())
    if digest != TABLES[name]:
        return wrong(file, "is damaged: it is not the published table, and counts are wrong", reinstall())
    return ok(file, f"{len(loaded.lengths):,} tokens, the published table (sha256 {digest[:12]})")


def made_file(file: str, expected: str) -> Finding:
    try:
        with open(os.path.join(vocabulary.DIRECTORY, file), "rb") as opened:
            digest = hashlib.sha256(opened.read()).hexdigest()
    except OSError as error:
        return wrong(file, f"cannot be read: {error.strerror}", reinstall())
    if digest != expected:
        return wrong(file, "is damaged, or of another version: counts may be wrong", reinstall())
    return ok(file, "the same tokens for quick lookups")


def patterns() -> Finding:
    import _sre

    file = os.path.basename(READY_FILE)
    if _sre.MAGIC not in ENGINES:
        return ok(file, "is not for this Python, which compiles its patterns anew")
    try:
        with open(READY_FILE, "rb") as opened:
            found = opened.read()
    except OSError as error:
        return wrong(file, f"cannot be read: {error.strerror}; every start takes longer", reinstall())
    if found != ready_patterns():
        return wrong(file, "is damaged: output may be cut at wrong places", reinstall())
    return ok(file, "as this Python compiles them")


def reinstall() -> str:
    python = quoted(sys.executable or "python3")
    return f"{python} -m pip install --force-reinstall --no-deps tokcap=={own_version()}"


def own_version() -> str:
    from tokcap import __version__

    return __version__
