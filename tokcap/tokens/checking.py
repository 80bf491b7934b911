"""Compare a compiled tokenizer with the package `tokenizers`, which reads the same source file."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tokcap.errors import PackageMissing, TokenizerRefused
from tokcap.lean.record import Record
from tokcap.tokens import adding
from tokcap.tokens.added import FAMILY
from tokcap.tokens.chunks import as_text
from tokcap.tokens.nfc import normalized
from tokcap.tokens.sentencepiece import WRITTEN_BLANK
from tokcap.tokens.sources.base import Refused
from tokcap.tokens.sources.character_bpe import BYTE_NAMES
from tokcap.tokens.sources.source_file import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.environment import Environment


class Comparison(Record):
    """The tokens of one text: how many there are by `tokenizers` and by tokcap, and how many are the same."""

    reference: int
    counted: int
    same: int


class Checker:
    """One compiled tokenizer, and the same by `tokenizers`."""

    def __init__(self, name: str, source: str, env: Environment) -> None:
        described = adding.described(name, env)
        if described.encoder not in LENGTH_OF:
            raise TokenizerRefused(f"{name!r} is not compiled: the package tokenizers counts itself")
        opened = FAMILY.open(name, env)
        assert opened is not None
        self._compiled = opened
        self._described = described
        path = source or adding.source_path_of(described)
        try:
            with SourceFile(path) as file:
                if described.source_format != "huggingface":
                    raise TokenizerRefused(f"the package tokenizers cannot read {path}: not a tokenizer.json")
                if file.sha256 != described.source_sha256:
                    raise TokenizerRefused(f"{path} is not the file that {name!r} was compiled from")
                self._reference = reference_from(file.content)
        except FileNotFoundError:
            raise TokenizerRefused(f"{path} does not exist any more; name it with --source") from None
        except Refused as error:
            raise TokenizerRefused(f"{path}: {error}") from None

    def compare(self, data: bytes) -> Comparison:
        text = as_text(data)
        if self._described.normalizer == "nfc":
            # So that positions are the same in both.
            text = normalized(text)
        tokens = self._reference.encode(text, add_special_tokens=False).tokens
        if self._described.encoder == "sentencepiece":
            text = text.replace(WRITTEN_BLANK, " ")
        reference = ends(map(LENGTH_OF[self._described.encoder], tokens))
        compiled = ends(self._compiled.token_lengths(text))
        if reference and reference[-1] > len(text.encode()):
            # The first token has a blank that is not in the text.
            reference = [end - 1 for end in reference]
        same = len(set(spans(reference)) & set(spans(compiled)))
        return Comparison(len(reference), len(compiled), same)


def length_of_characters(token: str) -> int:
    return 1 if token in BYTE_NAMES else len(token.replace(WRITTEN_BLANK, " ").encode())


# The bytes of a written token: every character stands for one byte, or for itself.
LENGTH_OF: dict[str, Callable[[str], int]] = {"byte_pair": len, "sentencepiece": length_of_characters}


def ends(lengths: Any) -> list[int]:
    return list(accumulate(lengths))


def spans(found: list[int]) -> list[tuple[int, int]]:
    return list(zip([0, *found], found, strict=False))


def reference_from(content: bytes) -> Any:
    """Return the tokenizer of the package. The text of an added token is plain text, as in tokcap."""
    import orjson

    try:
        from tokenizers import Tokenizer
    except ImportError:
        from tokcap.system.installation import command_to_add

        raise PackageMissing(
            f"this needs the package tokenizers; to install it: {command_to_add('tokenizers')}"
        ) from None
    model = orjson.loads(content)
    model |= {"added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return Tokenizer.from_str(orjson.dumps(model).decode())
