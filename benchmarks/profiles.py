"""How far a fitted profile is off: `python -m benchmarks.profiles [OUTPUTS]`.

A published vocabulary stands in for a closed one. Texts are cut from real outputs of commands, source code,
numbers, digests, base64, blanks and other scripts; every second one is held out. Then each kind is capped by
the profile, and what was shown is counted with the vocabulary. The vocabularies are in the directory that
TOKCAP_TESTS_VOCABULARIES names; OUTPUTS is a directory like `benchmarks/useful/outputs`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.profile_texts import texts_by_kind
from tokcap.core.spool import in_memory
from tokcap.tokens import open_index
from tokcap.tokens.calibration import CountedText, pieces_of, profile_of
from tokcap.tokens.embedded import FAMILY
from tokcap.tokens.fitting import Sample, errors_of
from tokcap.tokens.profile_tokenizer import ProfileTokenizer

PLACE = os.environ.get("TOKCAP_TESTS_VOCABULARIES", "")
NAMES = ("qwen3", "gemma3", "llama3", "deepseek_v3", "mistral_nemo")
PIECES = 12
LIMITS = (500, 4000)
COLUMNS = (
    *("vocabulary", "held-out texts", "mean over kinds", "most for a kind", "stated for a limit"),
    *(f"limit {limit} passed by" for limit in LIMITS),
)


def closed(path: Path) -> Tokenizer:
    model = json.loads(path.read_bytes())
    return Tokenizer.from_str(json.dumps({**model, "added_tokens": [], "post_processor": None}))


def count(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def main() -> None:
    outputs = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "useful" / "outputs"
    kinds = texts_by_kind(outputs)
    base = FAMILY.open("o200k_base")
    assert base
    print(f"| {' | '.join(COLUMNS)} |\n| {' | '.join(['---'] * len(COLUMNS))} |")
    for name in NAMES:
        path = Path(PLACE, f"{name}.json")
        if not path.exists():
            print(f"{name}: {path} is not there", file=sys.stderr)
            continue
        tokenizer = closed(path)
        texts = [
            CountedText(kind, part, count(tokenizer, part))
            for kind, text in kinds.items()
            for part in pieces_of(text, PIECES)
        ]
        profile = profile_of(name, texts, "a benchmark")
        fitted = ProfileTokenizer(profile, base)
        passed = [most_over(fitted, tokenizer, kinds, limit) for limit in LIMITS]
        worst = worst_kind(fitted, texts)
        numbers = (profile.mean_error, profile.most_error, profile.most_above, *passed)
        cells = [f"{number / 10:.1f} %" for number in numbers]
        cells[1] += f" ({worst})"
        print(f"| {name} | {profile.held_out_texts} | {' | '.join(cells)} |", flush=True)


def most_over(fitted: ProfileTokenizer, tokenizer: Tokenizer, kinds: dict[str, str], limit: int) -> int:
    """Return by how many thousandths the most expensive first window passes its limit; 0 if none does."""
    most = 0
    for text in kinds.values():
        data = text.encode()
        index = open_index(in_memory(data), fitted)
        shown = data[: index.byte_at(index.reach(limit))].decode("utf-8", "ignore")
        if index.total_tokens > limit:
            most = max(most, round(1000 * count(tokenizer, shown) / limit) - 1000)
    return most


def worst_kind(fitted: ProfileTokenizer, texts: list[CountedText]) -> str:
    """Return the kind with the largest error."""
    kinds = {one.origin for one in texts}

    def error(kind: str) -> int:
        own = [one for one in texts if one.origin == kind]
        samples = [Sample(kind, {}, 0, max(one.tokens, 1)) for one in own]
        return errors_of(samples, [fitted.count(one.text) for one in own]).most

    return max(sorted(kinds), key=error)


if __name__ == "__main__":
    main()
