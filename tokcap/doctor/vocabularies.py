"""Check the vocabularies, embedded and added: compare digests, and restore the published tables."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, ok, wrong
from tokcap.errors import TokcapError
from tokcap.lean.patterns import ENGINES
from tokcap.steps.patterns import READY_FILES, ready_patterns
from tokcap.system.installation import installation
from tokcap.tokens import added, embedded, vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

# SHA-256 of the published tables.
TABLES = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
# SHA-256 of the bucket files. Generating them again would take a second.
BUCKETS = {
    "cl100k_base": "4b316d314fd6f8f116628b007c6cff480f33c0f92f8080e9d305f23de153fcbb",
    "o200k_base": "4efd1d6a8aa23af8a9b587499754ed49b05ed676d6f6861f94faaa41f9188ec7",
}


def check(env: Environment) -> Iterator[Finding]:
    """Check each table and its buckets, then the compiled patterns, then what the user has added."""
    for name in embedded.NAMES:
        yield check_table(name)
        yield check_buckets(name)
    yield from map(check_patterns, READY_FILES)
    for name in added.names(env):
        yield check_added(name, env)


def check_added(name: str, env: Environment) -> Finding:
    """Check whether the compiled files of an added tokenizer are what was written."""
    from tokcap.tokens import adding

    remedy = f"tokcap tokenizer remove {name}"
    try:
        described = adding.described(name, env)
        if adding.is_intact(name, env):
            return ok(
                name, f"{described.tokens:,} tokens, added from a file with the digest {described.digest}"
            )
    except TokcapError as error:
        return wrong(name, str(error), remedy)
    return wrong(name, "its compiled files are damaged, so counts are wrong; add it again after this", remedy)


def check_table(name: str) -> Finding:
    """Check whether an embedded table equals the published one."""
    file = f"{name}.vocab"
    try:
        loaded = vocabulary.load(name)
        digest = hashlib.sha256(loaded.published_table()).hexdigest()
    except (OSError, ValueError) as error:
        return wrong(file, f"cannot be read: {error}", reinstall())
    if digest != TABLES[name]:
        return wrong(file, "damaged: it differs from the published table, so counts are wrong", reinstall())
    return ok(file, f"{len(loaded.lengths):,} tokens, the published table (sha256 {digest[:12]})")


def check_buckets(name: str) -> Finding:
    file = f"{name}.buckets"
    try:
        with open(os.path.join(embedded.DIRECTORY, file), "rb") as opened:
            digest = hashlib.sha256(opened.read()).hexdigest()
    except OSError as error:
        return wrong(file, f"cannot be read: {error.strerror}", reinstall())
    if digest != BUCKETS[name]:
        return wrong(file, "damaged, or from another version: counts may be wrong", reinstall())
    return ok(file, "the same tokens, arranged for fast lookup")


def check_patterns(path: str) -> Finding:
    import _sre

    file = os.path.basename(path)
    if _sre.MAGIC not in ENGINES:
        return ok(file, "not made for this Python, which compiles the patterns itself")
    try:
        with open(path, "rb") as opened:
            found = opened.read()
    except OSError as error:
        return wrong(file, f"cannot be read: {error.strerror}; every start takes longer", reinstall())
    if found != ready_patterns(READY_FILES[path]):
        return wrong(file, "damaged: output may be cut in the wrong places", reinstall())
    return ok(file, "equal to what this Python compiles")


def reinstall() -> str:
    return installation().reinstall()
