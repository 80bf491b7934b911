"""A GGUF model: its metadata has the vocabulary, and merges or scores. Only that is read.

The tokens are those of llama.cpp. It does not normalize texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.tokens.sentencepiece import WRITTEN_BLANK
from tokcap.tokens.sources.base import MOST_TOKENS, Published, Refused
from tokcap.tokens.sources.character_bpe import BYTE_NAMES, check_bytes, tokens_of
from tokcap.tokens.sources.gguf_metadata import MAGIC, Metadata
from tokcap.tokens.sources.huggingface import bytes_of_tokens
from tokcap.tokens.sources.merges import ranks_of_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokcap.tokens.sources.source_file import SourceFile

# Types of tokens.
NORMAL, USER_DEFINED = 1, 4

# Names of pre-tokenizers, by those that tokcap has for the pre-split.
PRE_SPLITS = {
    name: pre_split
    for pre_split, names in {
        "llama3": "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano "
        "dbrx smaug-bpe chatglm-bpe glm4 glm5",
        "qwen2": "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan solar-open megrez grok-2",
        "qwen35": "qwen35",
        "gpt2_digits": "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
        "deepseek3": "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
        "gpt2": "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert mpt "
        "olmo jais trillion granite-docling jina-v1-en jina-v2-code roberta-bpe",
        "o200k_base": "gpt-4o llama4 kanana2 talkie minimax-m2",
        "tekken": "tekken",
    }.items()
    for name in names.split()
}
# A piece that is a token is not merged.
WHOLE_PIECES_FIRST = (
    *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
    *("jina-v5-nano", "glm4", "glm5", "tekken"),
)


class GgufFormat:
    """A file that begins with `GGUF`."""

    description = "GGUF model"

    def recognizes(self, file: SourceFile) -> bool:
        return file.beginning.startswith(MAGIC)

    def read(self, file: SourceFile, pre_split: str) -> Published:
        if pre_split:
            raise Refused("it has its own pre-split; leave out --pre-split")
        metadata = Metadata(*file.from_beginning())
        values = metadata.values
        model = text_of(values, "model")
        if model not in MODELS:
            raise Refused(f"its tokenizer is {model!r}, which cannot be compiled")
        return MODELS[model](values).but(sha256=metadata.sha256)


def text_of(values: Mapping[str, Any], key: str) -> str:
    found = values.get(key, b"")
    if not isinstance(found, bytes):
        raise Refused(f"its tokenizer.ggml.{key} is not a text")
    return found.decode("utf-8", "replace")


def texts_of(values: Mapping[str, Any], key: str) -> list[str]:
    found = values.get(key)
    if not isinstance(found, list):
        raise Refused(f"it has no tokenizer.ggml.{key}")
    return [one.decode("utf-8", "replace") for one in found]


def normal_tokens(values: Mapping[str, Any]) -> list[str]:
    """Return the tokens that are neither special nor unused, in order."""
    tokens = texts_of(values, "tokens")
    if len(tokens) > MOST_TOKENS:
        raise Refused(f"it has {len(tokens)} tokens; no vocabulary has more than {MOST_TOKENS}")
    types = (
        numbers_of(values, "token_type", len(tokens)) if "token_type" in values else [NORMAL] * len(tokens)
    )
    return [token if kind == NORMAL else "" for token, kind in zip(tokens, types, strict=True)]


def numbers_of(values: Mapping[str, Any], key: str, number: int) -> Sequence[float]:
    found = values.get(key)
    if not isinstance(found, tuple) or len(found) != number:
        raise Refused(f"it has no tokenizer.ggml.{key}, or not one for each token")
    return found


def pairs_of(values: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """Yield the pairs that are merged. A part may be a blank, but not an empty one."""
    for merge in texts_of(values, "merges"):
        place = merge.find(" ", 1)
        yield (merge[:place], merge[place + 1 :]) if place > 0 else ()


def byte_level(values: Mapping[str, Any]) -> Published:
    """Return the vocabulary of a model that merges bytes."""
    name = text_of(values, "pre") or "default"
    if name not in PRE_SPLITS:
        raise Refused(f"its pre-tokenizer is {name!r}, which cannot be compiled")
    pairs = list(pairs_of(values))
    made = {token for pair in pairs for token in (*pair, "".join(pair))}
    tokens = bytes_of_tokens(made.union(normal_tokens(values)) - {""})
    return Published(
        tokens=frozenset(tokens.values()),
        merges=ranks_of_pairs(pairs, tokens, tokens),
        ranks=None,
        whole_pieces_first=name in WHOLE_PIECES_FIRST,
        pre_split=PRE_SPLITS[name],
        normalizer="none",
    )


def by_scores(values: Mapping[str, Any]) -> Published:
    """Return the vocabulary of a model of SentencePiece: the pair that makes the best token is merged."""
    written = normal_tokens(values)
    scores = numbers_of(values, "scores", len(written))
    refuse_defined_blanks(values)
    # Only what has several characters is made of pairs.
    scored = [(-score, token) for token, score in zip(written, scores, strict=True) if len(token) > 1]
    order = {score: rank for rank, score in enumerate(sorted({score for score, _ in scored}))}
    tokens = tokens_of(filter(None, written))
    ranks = {tokens[token]: order[score] for score, token in scored if token in tokens}
    return with_characters(values, tokens, None, ranks)


def by_merges(values: Mapping[str, Any]) -> Published:
    """Return the vocabulary of a model that merges characters."""
    pairs = list(pairs_of(values))
    made = {token for pair in pairs for token in (*pair, "".join(pair))}
    written = made.union(normal_tokens(values)) - {""}
    tokens = tokens_of(written)
    return with_characters(values, tokens, ranks_of_pairs(pairs, tokens, written), None)


def with_characters(
    values: Mapping[str, Any],
    tokens: Mapping[str, bytes],
    merges: Mapping[tuple[bytes, ...], int] | None,
    ranks: Mapping[bytes, int] | None,
) -> Published:
    check_bytes(frozenset(texts_of(values, "tokens")))
    # Models with scores get a blank unless they say that they do not; those with merges get none.
    has_prefix = values.get("add_space_prefix", merges is None)
    return Published(
        tokens=frozenset(tokens.values()),
        merges=merges,
        ranks=ranks,
        whole_pieces_first=False,
        pre_split="sentencepiece",
        normalizer="none",
        encoder="sentencepiece",
        prefix="always" if has_prefix else "none",
    )


def refuse_defined_blanks(values: Mapping[str, Any]) -> None:
    """Refuse a model whose runs of blanks are found before anything is merged."""
    tokens = texts_of(values, "tokens")
    types = numbers_of(values, "token_type", len(tokens))
    for token, kind in zip(tokens, types, strict=True):
        if kind == USER_DEFINED and token not in BYTE_NAMES and not token.replace(WRITTEN_BLANK, " ").strip():
            raise Refused(
                "its runs of blanks are tokens defined by the user, which cannot be compiled; "
                "add the tokenizer.json of the model"
            )


# By the value of `tokenizer.ggml.model`.
MODELS: dict[str, Callable[[Mapping[str, Any]], Published]] = {
    "gpt2": byte_level,
    "llama": by_scores,
    "gemma4": by_merges,
}

FORMAT = GgufFormat()
