"""Known models: the size of their context window, and the tokenizer that counts for them.

`[models.NAME]` in the config file adds to this table and overrides it.
"""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokcap.environment import Environment


class Model(Record):
    """One model that reads output."""

    context_window: int | None = None
    # An embedded encoding, a profile, or the name under which its published vocabulary can be added. None:
    # nothing is published. Tokens are counted with the default tokenizer if this one is not here.
    tokenizer: str | None = None

    def known(self) -> dict[str, int | str]:
        """Return what is known about it, by option key."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


# Generations of Claude: from 4.7 on there is another vocabulary.
OLD_CLAUDE, CLAUDE = Model(200_000, "claude-4.6"), Model(1_000_000, "claude")

# The longest entry that a name starts with decides: `gpt-4o-2024-08-06` is a `gpt-4o`.
MODELS = {
    "gpt-3.5-turbo": Model(16_385, "cl100k_base"),
    "gpt-4": Model(8_192, "cl100k_base"),
    "gpt-4-32k": Model(32_768, "cl100k_base"),
    "gpt-4-turbo": Model(128_000, "cl100k_base"),
    "gpt-4o": Model(128_000, "o200k_base"),
    "gpt-4.1": Model(1_047_576, "o200k_base"),
    "gpt-5": Model(400_000, "o200k_base"),
    "gpt-5.4": Model(1_050_000, "o200k_base"),
    "gpt-5.4-mini": Model(400_000, "o200k_base"),
    "gpt-5.4-nano": Model(400_000, "o200k_base"),
    "gpt-5.5": Model(1_050_000, "o200k_base"),
    "gpt-oss": Model(131_072, "o200k_base"),
    "codex-mini": Model(200_000, "o200k_base"),
    "o1": Model(200_000, "o200k_base"),
    "o3": Model(200_000, "o200k_base"),
    "o4-mini": Model(200_000, "o200k_base"),
    # An unknown generation counts as the newest one, which has more tokens.
    "claude": Model(200_000, "claude"),
    "claude-2": OLD_CLAUDE,
    "claude-3": OLD_CLAUDE,
    **{f"claude-{size}-4": OLD_CLAUDE for size in ("opus", "sonnet", "haiku")},
    **{f"claude-{size}-4-{minor}": CLAUDE for size in ("opus", "sonnet", "haiku") for minor in (7, 8, 9)},
    # What Claude Code takes as the name of a model.
    **dict.fromkeys(("opus", "sonnet", "haiku", "opusplan"), Model(200_000, "claude")),
    "gemini": Model(1_048_576, "gemini"),
    "gemma-3": Model(131_072, "gemma3"),
    "grok": Model(131_072),
    "grok-3": Model(131_072),
    "grok-4": Model(256_000),
    "grok-4-fast": Model(2_000_000),
    "grok-4-1-fast": Model(2_000_000),
    "grok-4.1-fast": Model(2_000_000),
    "grok-code-fast": Model(256_000),
    "llama-3": Model(128_000, "llama3"),
    "llama-4": Model(1_000_000, "llama4"),
    "qwen2.5": Model(131_072, "qwen2.5"),
    "qwen3": Model(131_072, "qwen3"),
    "qwen3-coder": Model(262_144, "qwen3"),
    "qwen3-max": Model(262_144, "qwen3"),
    "deepseek": Model(128_000, "deepseek_v3"),
    "mistral-large": Model(128_000),
    "mistral-medium": Model(128_000),
    "mistral-small": Model(128_000, "tekken"),
    "mistral-nemo": Model(128_000, "tekken"),
    "codestral": Model(256_000),
    "devstral": Model(128_000, "tekken"),
    "kimi-k2": Model(131_072, "kimi_k2"),
    "kimi-k2.5": Model(262_144, "kimi_k2"),
    "glm-4.5": Model(131_072, "glm4"),
    "glm-4.6": Model(200_000, "glm4"),
    "glm-4.7": Model(200_000, "glm4"),
}

# What may follow the name of an entry. Claude Code writes `claude-opus-4-6[1m]` for a million tokens.
SEPARATORS = "-.:@["
LARGE_WINDOW, LARGE_WINDOW_TOKENS = "[1m]", 1_000_000
# Names of models are long, and differ in a few letters.
LEAST_SIMILARITY = 0.5


def find_model(name: str, own: Mapping[str, Model]) -> Model:
    """Return what is known about a model: from the user's own table first, then from `MODELS`."""
    for spelling in spellings_of(name):
        for table in (own, MODELS):
            named = [
                known
                for known in table
                if spelling == known or (spelling.startswith(known) and spelling[len(known)] in SEPARATORS)
            ]
            if named:
                model = table[max(named, key=len)]
                is_large = spelling.endswith(LARGE_WINDOW)
                return model.replace(context_window=LARGE_WINDOW_TOKENS) if is_large else model
    from tokcap.core.spelling import nearest

    near = nearest([*spellings_of(name)][-1], {**own, **MODELS}, LEAST_SIMILARITY)
    question = f"did you mean {near}? If not, " if near else ""
    raise UsageError(
        f"--model: {name[:60]!r} is not a known model; {question}add [models.NAME] to the config file"
    )


def spellings_of(name: str) -> Iterator[str]:
    """Yield a name, and what is left without its provider: `anthropic/…`, `us.anthropic.…`, `Qwen/…`."""
    yield name
    plain = name.rpartition("/")[2].lower()
    yield plain
    _, provider, rest = plain.rpartition("anthropic.")
    if provider:
        yield rest


def is_here(model: Model, env: Environment | None) -> bool:
    """Return whether the tokenizer of a model can be used: a published vocabulary has to be added first.

    One that the user has named in the config file is taken as it is.
    """
    from tokcap.tokens import FAMILIES, tokenizer_names

    name = model.tokenizer
    if name is None or all(model.tokenizer != known.tokenizer for known in MODELS.values()):
        return name is not None
    return name in tokenizer_names() or FAMILIES["added"].open(name, env) is not None
