"""Compile a published vocabulary into the data directory, list what is there, and remove it."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote_to_bytes

from tokcap.errors import NotFound, PackageMissing, TokenizerRefused, UsageError
from tokcap.system import private_files
from tokcap.tokens import FAMILIES, added
from tokcap.tokens.added import DEFINITION, DESCRIPTION, LENGTHS, Description
from tokcap.tokens.normalization import WRITTEN_BLANK
from tokcap.tokens.pre_splits import PRE_SPLITS
from tokcap.tokens.published import Published, Refused, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.environment import Environment

# A table with which a definition begins; all of it is replaced.
ANY_TABLE = b"IQ== 0\n"


def add(name: str, path: str, env: Environment, pre_split: str = "") -> Description:
    """Compile the vocabulary in a file, so that `--tokenizer NAME` counts with it.

    `pre_split` names the pre-split of a table, which does not say it.
    """
    check_name(name, env)
    if not added.has_package():
        raise PackageMissing(added.package_missing(name))
    try:
        published, sha256 = read(path, pre_split)
    except Refused as error:
        raise TokenizerRefused(f"{path}: {error}") from None
    files = {DEFINITION: definition_of(published), LENGTHS: bytes(map(len, published.tokens))}
    described = Description(
        name=name,
        source_format=published.format,
        # A path may have any bytes, and its line in the description must not end early.
        source_path=quote_from_bytes(os.fsencode(os.path.abspath(path))),
        source_sha256=sha256,
        pre_split=published.pre_split,
        normalizer=published.normalizer,
        prefix=published.prefix,
        tokens=len(published.tokens),
        longest_token_bytes=max(map(len, published.tokens)),
        compiled_sha256=digest_of(files.values()),
    )
    files[DESCRIPTION] = added.packed(described, added.FORMAT)
    place = added.place_of(env)
    private_files.make_directory(place)
    temporary = os.path.join(place, private_files.temporary_name())
    private_files.make_directory(temporary)
    try:
        for file_name, content in files.items():
            private_files.write_new_file(os.path.join(temporary, file_name), content)
        os.rename(temporary, os.path.join(place, name))
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return described


def definition_of(published: Published) -> bytes:
    """Return the file that kitoken loads.

    Its own readers are not used: they cut out the text of special tokens, keep tokens that no merge makes,
    and have another pattern for GPT-2. Texts are normalized here, by other tables than those of kitoken.
    """
    from kitoken import Kitoken

    of_characters = published.normalizer == "blanks"
    blank = {"Replace": {"pattern": {"Regex": " "}, "replacement": WRITTEN_BLANK}}
    written = WRITTEN_BLANK.encode()
    tokens = [token.replace(b" ", written) if of_characters else token for token in published.tokens]
    splits = [
        {"Pattern": {"pattern": {"Regex": pattern}, "behavior": "Isolate"}}
        for pattern in PRE_SPLITS[published.pre_split].patterns
    ]
    vocabulary = [{"id": number, "bytes": list(token)} for number, token in enumerate(tokens)]
    made = Kitoken.from_tiktoken(ANY_TABLE)
    made.set_definition(
        {
            **made.definition(),
            "model": {"BytePair": {"vocab": vocabulary, "chars": of_characters}},
            "specials": [],
            "config": {
                **made.config(),
                "fallback": ["Bytes", "Skip"] if of_characters else ["Skip"],
                "normalization": [blank] if of_characters else [],
                "split": splits,
            },
        }
    )
    return bytes(made.to_bytes())


def check_name(name: str, env: Environment, replacing: str = "") -> None:
    """Refuse a name that cannot be added, or that is taken, unless by the family that may be replaced."""
    if not added.is_name(name):
        raise UsageError(
            f"{name[:80]!r} is not a name: letters, digits, dots, dashes and underscores, up to 64"
        )
    if os.path.lexists(os.path.join(added.place_of(env), name)):
        raise TokenizerRefused(
            f"there is a tokenizer {name!r}; remove it first: tokcap tokenizer remove {name}"
        )
    for family in FAMILIES:
        if family != replacing and FAMILIES[family].examine(name, env) is not None:
            raise TokenizerRefused(f"{name!r} is a tokenizer already; choose another name")


def digest_of(contents: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for content in contents:
        found.update(content)
    return found.hexdigest()


def described(name: str, env: Environment) -> Description:
    """Return what is known about an added tokenizer; `TokenizerUnavailable` if it is damaged."""
    found = added.description_of(name, env)
    if found is None:
        raise NotFound(f"there is no added tokenizer {name!r}; tokcap tokenizer list shows all")
    return found


def source_path_of(described: Description) -> str:
    """Return the path of the file that a tokenizer was compiled from. It may be gone."""
    return os.fsdecode(unquote_to_bytes(described.source_path))


def is_intact(described: Description, env: Environment) -> bool:
    """Return whether the compiled files are what was written."""
    try:
        files = added.read_files(os.path.join(added.place_of(env), described.name))
    except OSError:
        return False
    return digest_of(files) == described.compiled_sha256


def remove(name: str, env: Environment) -> None:
    """Remove an added tokenizer."""
    directory = os.path.join(added.place_of(env), name)
    if not added.is_name(name) or not os.path.lexists(directory):
        raise NotFound(f"there is no added tokenizer {name!r}; tokcap tokenizer list shows all")
    # The name must be gone at once, even if not all files can be removed.
    temporary = os.path.join(added.place_of(env), private_files.temporary_name())
    os.rename(directory, temporary)
    shutil.rmtree(temporary, ignore_errors=True)
