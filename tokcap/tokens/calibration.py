"""Make a profile from counted texts: hold half of them out to find the error, then fit to all."""

from __future__ import annotations

import os

from tokcap.errors import TokenizerRefused, UsageError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system import private_files
from tokcap.tokens import FAMILIES, profiles
from tokcap.tokens.added import is_name
from tokcap.tokens.embedded import FAMILY as EMBEDDED
from tokcap.tokens.fitting import Sample, amounts_of, errors_of, fit
from tokcap.tokens.profile import Profile, digest_of
from tokcap.tokens.profile_tokenizer import ProfileTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment
    from tokcap.tokens.profile import Factors

BASE = "o200k_base"
# Texts of this many characters are counted. A window of an ordinary limit has about as many.
TEXT_CHARACTERS = 4096
# A shorter rest of a file is left out: in so few tokens chance decides.
LEAST_CHARACTERS = 1024
LEAST_TEXTS = 8
# In a window that is shorter than these texts, chance matters more.
SHORT_WINDOWS = 1.25


class CountedText(Record):
    """A text, the file or output that it is from, and its true number of tokens."""

    origin: str
    text: str
    tokens: int


def check_name(name: str, env: Environment) -> None:
    """Refuse a name that another tokenizer has. A shipped profile may be replaced by the user's own."""
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!r} is not a name: letters, digits, dots, dashes and underscores, up to 64"
        )
    for family in FAMILIES:
        if family != "profiles" and FAMILIES[family].examine(name, env) is not None:
            raise TokenizerRefused(f"{name!r} is a tokenizer already; choose another name")


def pieces_of(text: str, most: int) -> list[str]:
    """Return at most so many parts of a text, evenly spread over it."""
    starts = range(0, max(len(text) - LEAST_CHARACTERS, 0) + 1, TEXT_CHARACTERS)
    parts = [text[start : start + TEXT_CHARACTERS] for start in starts]
    number = min(len(parts), most)
    return [parts[len(parts) * place // number] for place in range(number)] if text else []


def profile_of(name: str, texts: Sequence[CountedText], source: str) -> Profile:
    """Return the profile that fits the texts best, with the error that it has on texts held out."""
    base = EMBEDDED.open(BASE)
    assert base
    base.prepare()
    samples = [Sample(one.origin, *amounts_of(one.text, base), max(one.tokens, 1)) for one in texts]
    held_out = held_out_places(texts)
    fitted = fit([sample for place, sample in enumerate(samples) if place not in held_out])
    tokenizer = ProfileTokenizer(made(name, source, fitted), base)
    counted = [tokenizer.count(texts[place].text) for place in held_out]
    errors = errors_of([samples[place] for place in held_out], counted)
    return made(name, source, fit(samples)).but(
        mean_error=errors.mean,
        most_error=errors.most,
        most_above=round(SHORT_WINDOWS * max(errors.most_above, errors.most)),
        fitted_texts=len(texts) - len(held_out),
        held_out_texts=len(held_out),
    )


def held_out_places(texts: Sequence[CountedText]) -> list[int]:
    """Return every second text of each origin; of origins with a single text every second one."""
    seen: dict[str, int] = {}
    numbers: list[int] = []
    for one in texts:
        # The first text of an origin is held out in every second origin, so that both halves have all kinds.
        numbers.append(seen.setdefault(one.origin, len(seen)) % 2)
        seen[one.origin] += 1
    return [place for place, number in enumerate(numbers) if number]


def made(name: str, source: str, factors: Factors) -> Profile:
    return Profile(name, BASE, source, 0, 0, 0, 0, 0, digest_of(BASE, factors), factors)


def save_profile(profile: Profile, env: Environment) -> None:
    """Store a profile, in place of one that has its name."""
    place = profiles.place_of(env)
    private_files.make_directory(place)
    private_files.replace_file(os.path.join(place, profile.name + profiles.SUFFIX), profile.packed())


def remove_profile(name: str, env: Environment) -> bool:
    """Remove a profile of the user; False if there is none."""
    if not is_name(name):
        return False
    try:
        os.unlink(os.path.join(profiles.place_of(env), name + profiles.SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        if name in profiles.SHIPPED:
            raise TokenizerRefused(f"the profile {name} comes with tokcap and cannot be removed") from None
        return False
    return True
