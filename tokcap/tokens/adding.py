"""Compile a vocabulary into the data directory, list what is there, and remove it."""

from __future__ import annotations

import hashlib
import os
import shutil
from urllib.parse import quote_from_bytes, unquote_to_bytes

from tokcap.errors import NotFound, PackageMissing, TokenizerRefused, UsageError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system import private_files
from tokcap.tokens import FAMILIES, added
from tokcap.tokens.added import BUCKETS, DESCRIPTION, SOURCE, VOCABULARY, Description
from tokcap.tokens.compile import bucket_file, first_merges
from tokcap.tokens.other_pre_splits import DIGIT_GROUPS
from tokcap.tokens.small_text import SINGLE
from tokcap.tokens.sources import FORMATS
from tokcap.tokens.sources.base import NotExact, Refused
from tokcap.tokens.sources.reachable import ordered_tokens
from tokcap.tokens.sources.source_file import SourceFile
from tokcap.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment


def add(name: str, path: str, env: Environment, pre_split: str = "", *, slowly: bool = False) -> Description:
    """Compile the vocabulary in a file, so that `--tokenizer NAME` counts with it.

    `pre_split` names the pre-split of a file that does not say it. `slowly`: do not compile it; the package
    `tokenizers` counts. If there is no such file, `path` is the name of a model.
    """
    check_name(name, env)
    if not os.path.lexists(path):
        from tokcap.tokens.sources import caches

        path = caches.find(path, env)
    try:
        with SourceFile(path) as file:
            described, files = kept(name, file) if slowly else compiled(name, file, pre_split)
    except Refused as error:
        raise TokenizerRefused(f"{path}: {error}{way_out(error)}") from None
    described = described.but(compiled_sha256=digest_of(files))
    files[DESCRIPTION] = described.packed()
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


def check_name(name: str, env: Environment) -> None:
    """Refuse a name that cannot be added, or that is taken."""
    if not added.is_name(name):
        raise UsageError(
            f"{name[:80]!r} is not a name: letters, digits, dots, dashes and underscores, up to 64"
        )
    if os.path.lexists(os.path.join(added.place_of(env), name)):
        raise TokenizerRefused(
            f"there is a tokenizer {name!r}; remove it first: tokcap tokenizer remove {name}"
        )
    for family in FAMILIES:
        if FAMILIES[family].examine(name, env) is not None:
            raise TokenizerRefused(f"{name!r} is a tokenizer already; choose another name")


def way_out(error: Refused) -> str:
    """Return what can be done with a file that the package `tokenizers` may be able to read."""
    return "; --slow uses it through the package tokenizers" if isinstance(error, NotExact) else ""


def kept(name: str, file: SourceFile) -> tuple[Description, dict[str, bytes]]:
    """Return a copy of a tokenizer.json for the package `tokenizers`, if that can read it."""
    from tokcap.tokens.checking import reference_from

    if not FORMATS["huggingface"].recognizes(file):
        raise Refused("the package tokenizers reads only a tokenizer.json")
    try:
        tokens = reference_from(file.content).get_vocab_size()
    except PackageMissing:
        raise
    except Exception as error:
        # Code of another package can raise anything.
        raise Refused(f"the package tokenizers cannot read it: {str(error)[:200]}") from None
    described = Description(
        name=name,
        source_format="huggingface",
        source_path=written_path(file.path),
        source_sha256=file.sha256,
        pre_split="its own",
        normalizer="its own",
        encoder="package",
        prefix="none",
        tokens=tokens,
        longest_token_bytes=0,
        digit_group=0,
        compiled_sha256="",
    )
    return described, {SOURCE: file.content}


def compiled(name: str, file: SourceFile, pre_split: str) -> tuple[Description, dict[str, bytes]]:
    """Return both compiled files, and what is known about them except their digest."""
    for format_name in FORMATS:
        source = FORMATS[format_name]
        if source.recognizes(file):
            break
    else:
        raise Refused("it is not a vocabulary that can be compiled")
    published = source.read(file, pre_split)
    sha256 = published.sha256 or file.sha256
    ordered = ordered_tokens(published)
    tokens = ordered.tokens
    described = Description(
        name=name,
        source_format=format_name,
        source_path=written_path(file.path),
        source_sha256=sha256,
        pre_split=published.pre_split,
        normalizer=published.normalizer,
        encoder=published.encoder,
        prefix=published.prefix,
        tokens=len(tokens),
        longest_token_bytes=max(map(len, tokens)),
        digit_group=DIGIT_GROUPS[published.pre_split],
        compiled_sha256="",
        blank_run=ordered.blank_run,
    )
    table = vocabulary_of(name, sha256, tokens)
    if published.encoder == added.BYTE_PAIR:
        described = described.but(first_merges=first_merges(table).hex())
    with_helpers = [*tokens[: len(SINGLE)], *ordered.helpers, *tokens[len(SINGLE) :]]
    return described, {
        VOCABULARY: vocabulary_of(name, sha256, with_helpers).packed(),
        BUCKETS: bucket_file(table),
    }


def vocabulary_of(name: str, sha256: str, tokens: Sequence[bytes]) -> Vocabulary:
    return Vocabulary(name, sha256, bytes(map(len, tokens)), b"".join(tokens))


def written_path(path: str) -> str:
    """Return a path for a line of text. It may have any bytes."""
    return quote_from_bytes(os.fsencode(os.path.abspath(path)))


def digest_of(files: dict[str, bytes]) -> str:
    found = hashlib.sha256()
    for content in files.values():
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


def is_intact(name: str, env: Environment) -> bool:
    """Return whether the compiled files are what was written."""
    directory = os.path.join(added.place_of(env), name)
    file_names = (SOURCE,) if described(name, env).encoder == "package" else (VOCABULARY, BUCKETS)
    try:
        files = {}
        for file_name in file_names:
            with open(os.path.join(directory, file_name), "rb") as file:
                files[file_name] = file.read()
    except OSError:
        return False
    return digest_of(files) == described(name, env).compiled_sha256


def remove(name: str, env: Environment) -> None:
    """Remove an added tokenizer."""
    directory = os.path.join(added.place_of(env), name)
    if not added.is_name(name) or not os.path.lexists(directory):
        raise NotFound(f"there is no added tokenizer {name!r}; tokcap tokenizer list shows all")
    # The name must be gone at once, even if not all files can be removed.
    temporary = os.path.join(added.place_of(env), private_files.temporary_name())
    os.rename(directory, temporary)
    shutil.rmtree(temporary, ignore_errors=True)
