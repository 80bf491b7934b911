"""Counting: a name becomes a tokenizer, a tokenizer counts text, an index maps its tokens to bytes.

`FAMILIES` lists every kind of tokenizer that can be opened by name. The rest of the program uses only what is
exported here. A short output is not counted, so indexes are imported when they are used.
"""

from tokcap.errors import TokenizerUnavailable
from tokcap.startup.record import TYPE_CHECKING, Table
from tokcap.tokens.chunks import count_bytes as count_bytes
from tokcap.tokens.chunks import safe_count as safe_count

if TYPE_CHECKING:
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.tokens.base import PayloadIndex, TokenizerFamily
    from tokcap.tokens.index import Checkpoints

# Asked in this order; the first family that has the name wins. The default name belongs to the first one, so
# that an ordinary call imports no other. A tokenizer that fails on a payload is replaced by `ByteTokenizer`,
# which has no name that a user could choose.
FAMILIES: "Table[TokenizerFamily]" = Table(
    embedded="tokcap.tokens.embedded:FAMILY",
    approx="tokcap.tokens.approx:FAMILY",
    added="tokcap.tokens.added:FAMILY",
    profiles="tokcap.tokens.profiles:FAMILY",
    plugins="tokcap.tokens.plugins:FAMILY",
    tiktoken="tokcap.tokens.tiktoken_encodings:FAMILY",
)


def open_tokenizer(name: str, env: "Environment | None" = None) -> "Tokenizer":
    """Return the tokenizer of this name, or raise `TokenizerUnavailable`.

    `env` has the data directory, where vocabularies are that the user has added; None: that of this process.
    """
    for family in FAMILIES:
        if tokenizer := FAMILIES[family].open(name, env):
            return tokenizer
    raise unknown_tokenizer(name)


def open_index(
    payload: "Payload", tokenizer: "Tokenizer", known: "Checkpoints | None" = None
) -> "PayloadIndex":
    """Return where the tokens of a payload are. `known` are checkpoints from an earlier call."""
    if tokenizer.units_per_token == 1:
        from tokcap.tokens.index import Index

        return Index(payload, tokenizer, known)
    from tokcap.tokens.profiles import ProfileTokenizer, ScaledIndex

    assert isinstance(tokenizer, ProfileTokenizer)
    return ScaledIndex(payload, tokenizer, known)


def examine_tokenizer_name(name: str, env: "Environment | None" = None) -> str:
    """Check a name without loading a vocabulary. Return what its user should know, or an empty text."""
    for family in FAMILIES:
        remark = FAMILIES[family].examine(name, env)
        if remark is not None:
            return remark
    raise unknown_tokenizer(name)


def tokenizer_names() -> tuple[str, ...]:
    """Return the names that work on every machine, for suggestions."""
    return tuple(name for family in FAMILIES for name in FAMILIES[family].names)


def unknown_tokenizer(name: str) -> TokenizerUnavailable:
    *names, last = tokenizer_names()
    return TokenizerUnavailable(
        f"--tokenizer: {name!r} is not a known tokenizer, tiktoken encoding or model; "
        f"try {', '.join(names)} or {last}, or add a vocabulary: tokcap tokenizer add NAME FILE"
    )
