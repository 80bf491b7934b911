"""Tokenizers by the names that tiktoken knows: its encodings, and the models that use them."""

from __future__ import annotations

from tokcap.errors import TokenizerUnavailable
from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens import embedded

if TYPE_CHECKING:
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment

# These differ from another encoding only in their special tokens, which are plain text here.
SAME_ORDINARY_TOKENS = {"o200k_harmony": "o200k_base"}


class TiktokenFamily:
    """Encoding and model names. A table that is not embedded comes from tiktoken's cache or the network."""

    # The embedded encodings are suggested by their own family; the others may need a download.
    names = ()

    def open(self, name: str, env: Environment | None = None) -> Tokenizer | None:
        encoding_name = encoding_of(name)
        if encoding_name is None:
            return None
        # Whether tiktoken can load the table must be known before a command runs.
        return embedded.FAMILY.open(encoding_name) or load(encoding_name)

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        encoding_name = encoding_of(name)
        if encoding_name is None or encoding_name in embedded.NAMES:
            return None if encoding_name is None else ""
        return f"{name} uses the table {encoding_name}, which tiktoken loads from its cache or the network"


def encoding_of(name: str) -> str | None:
    """Return the encoding that a model uses, or the name of the encoding itself; None if neither is known."""
    import tiktoken

    if name not in tiktoken.list_encoding_names():
        try:
            name = tiktoken.encoding_name_for_model(name)
        except KeyError:
            return None
    return SAME_ORDINARY_TOKENS.get(name, name)


def load(encoding_name: str) -> Tokenizer:
    """Load an encoding by tiktoken, which may download its table."""
    import tiktoken

    from tokcap.tokens.bpe import BytePairTokenizer, TiktokenEngine
    from tokcap.tokens.pre_splits import PRE_SPLITS, SAME

    try:
        encoding = tiktoken.get_encoding(encoding_name)
    except Exception as error:
        # tiktoken does not catch what its download raises.
        raise TokenizerUnavailable(
            f"--tokenizer: tiktoken cannot load {encoding_name!r} here ({type(error).__name__}); "
            "cl100k_base, o200k_base and approx need no download"
        ) from error
    pre_split = PRE_SPLITS.get(SAME.get(encoding_name, encoding_name))
    engine = TiktokenEngine(encoding)
    return BytePairTokenizer(encoding_name, engine, max(engine.lengths), pre_split, encoding._pat_str)


FAMILY = TiktokenFamily()
