"""Estimates for vocabularies that are not published: the tokens of a base encoding, times one factor.

A profile comes with tokcap, or `tokcap tokenizer calibrate` has measured it. The factor is in thousandths of
a token for each base token, and the tokens of a text are rounded up once. So counts add up wherever those of
the base encoding do, and the token at a position is the count of the text before it.
"""

from __future__ import annotations

import os

from tokcap.core.tokenizer import LastTokens, Total, tokens_of
from tokcap.errors import TokenizerRefused, TokenizerUnavailable
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens.added import is_name, packed, place_of, unpacked
from tokcap.tokens.chunks import INSIDE_A_CHARACTER
from tokcap.tokens.embedded import FAMILY as EMBEDDED
from tokcap.tokens.index import Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.tokens.index import Checkpoints

BASE = "o200k_base"
UNITS_PER_TOKEN = 1000
# A factor beyond these is not that of a tokenizer.
LEAST_FACTOR, LARGEST_FACTOR = 100, 20_000
FORMAT = "tokcap profile 2"
# A directory in the data directory.
PROFILES = "profiles"


class Profile(Record):
    """Everything that is known about one profile. Its file has a line for each field."""

    name: str
    # Tokens for 1,000 tokens of the base encoding.
    factor: int
    # How far a count is off on average, and by how much a limit may be passed, in thousandths.
    mean_error: int
    most_above: int
    # Where the factor comes from, in one line.
    source: str

    def packed(self) -> bytes:
        return packed(self, FORMAT)

    @classmethod
    def unpacked(cls, data: bytes) -> Profile:
        """Read what `packed` wrote; `ValueError` if it is something else."""
        values = unpacked(data, FORMAT, cls._fields)
        factor, mean_error, most_above = (int(values[key]) for key in ("factor", "mean_error", "most_above"))
        if not LEAST_FACTOR <= factor <= LARGEST_FACTOR or min(mean_error, most_above) < 0:
            raise ValueError("a number is out of range")
        return cls(values["name"], factor, mean_error, most_above, values["source"])


# The factors are on the safe side: with nineteen of twenty texts that were measured, a limit holds in the
# tokens of the model. So most counts are too high.
SHIPPED = {
    profile.name: profile
    for profile in (
        Profile(
            "claude",
            2080,
            250,
            0,
            "the upper end of what users report, 1.57 to 2.08 tokens for one of tiktoken; measurements of "
            "Opus 4.7 (sol.ava.dev, 2026-04-17; claudecodecamp.com) have 1.58 x o200k_base for terminal "
            "output, 8 % more for prose and up to 25 % fewer for code and other scripts",
        ),
        Profile(
            "claude-4.6",
            1570,
            250,
            0,
            "the upper end of what users report for Claude up to 4.6; published measurements have 1.18 x "
            "o200k_base on average",
        ),
        Profile(
            "gemini",
            1430,
            180,
            600,
            "the 95th percentile of 637 pieces of outputs, sources and documents with the vocabulary of "
            "Gemma 3, with which the SDK of Google counts for Gemini; the mean is 1.22; only rows of long "
            "numbers pass a limit by more than 30 %; once added, that vocabulary counts exactly",
        ),
    )
}


class ProfileTokenizer:
    """The tokens of a vocabulary that is not published, estimated."""

    stable = True
    cuts_anywhere = True
    prefix_tokens = 0
    continued: Tokenizer | None = None
    units_per_token = UNITS_PER_TOKEN

    def __init__(self, profile: Profile, base: Tokenizer) -> None:
        self.name = profile.name
        self.profile = profile
        # The factor is all that decides a count.
        self.digest = f"{profile.factor:016x}"
        self.base = base
        self.most_tokens_per_byte = -(-profile.factor // UNITS_PER_TOKEN)
        self.longest_token_bytes = base.longest_token_bytes * (1 + UNITS_PER_TOKEN // profile.factor)
        self.safe_cut = base.safe_cut
        self.find_safe_cut = base.find_safe_cut

    def scaled(self, base_tokens: int) -> int:
        """Return how many tokens this many base tokens are."""
        return tokens_of(base_tokens * self.profile.factor, self)

    def base_token(self, token: int) -> int:
        """Return the base token in which a token begins."""
        return token * UNITS_PER_TOKEN // self.profile.factor

    def units(self, text: str) -> int:
        return self.base.count(text) * self.profile.factor

    def count(self, text: str) -> int:
        return self.scaled(self.base.count(text))

    def token_lengths(self, text: str) -> Sequence[int]:
        """Return the bytes of each token. A token without bytes begins inside a base token."""
        found: list[int] = []
        for number, size in enumerate(self.base.token_lengths(text)):
            begun = self.scaled(number + 1) - len(found)
            if begun:
                found.append(size)
                found += [0] * (begun - 1)
            else:
                found[-1] += size
        return found


class ScaledIndex:
    """Token positions of one payload with a profile. Only base tokens are counted and stored."""

    def __init__(
        self, payload: Payload, tokenizer: ProfileTokenizer, known: Checkpoints | None = None
    ) -> None:
        self._payload = payload
        self._profile = tokenizer
        self._base = Index(payload, tokenizer.base, known)
        self.tokenizer = tokenizer.name
        self.identity = f"{tokenizer.name}-{tokenizer.digest}"
        self.longest_token_bytes = tokenizer.longest_token_bytes
        self.checkpoints = self._base.checkpoints
        self.count_all = self._base.count_all
        self.packed = self._base.packed

    @property
    def valid_utf8(self) -> bool:
        return self._base.valid_utf8

    @property
    def storable(self) -> bool:
        return self._base.storable

    @property
    def total_tokens(self) -> int:
        return self._profile.scaled(self._base.total_tokens)

    @property
    def total(self) -> Total:
        return Total(self._profile.scaled(self._base.total.tokens), exact=False)

    def count_alone(self, data: bytes) -> int:
        return self._profile.scaled(self._base.count_alone(data))

    def reach(self, token: int) -> int:
        wanted = self._profile.base_token(token) + 1
        reached = self._base.reach(wanted)
        return token if reached == wanted else min(token, self._profile.scaled(reached))

    def byte_at(self, token: int) -> int:
        token = self.reach(token)
        base = self._profile.base_token(token)
        return self._base.byte_at(base + (self._profile.scaled(base) < token))

    def starts(self, first: int, last: int) -> Sequence[int]:
        last = self.reach(last)
        begin = self._profile.base_token(first)
        end = self._base.reach(self._profile.base_token(last) + 1)
        return self._of_base(first, last, begin, self._base.starts(begin, end))

    def _of_base(self, first: int, last: int, begin: int, starts: Sequence[int]) -> Sequence[int]:
        """Return where tokens start, given where base tokens start from `begin` on."""
        found = []
        for token in range(first, last + 1):
            base = self._profile.base_token(token)
            # The end of the payload may be inside the last base token, as far as units go.
            number = min(base - begin, len(starts) - 1)
            is_start = number < base - begin or self._profile.scaled(base) == token
            found.append(starts[number] if is_start else INSIDE_A_CHARACTER)
        return found

    def last(self, number: int, after: int) -> LastTokens:
        profile = self._profile
        wanted = profile.base_token(number) + 2
        found = self._base.last(wanted, profile.base_token(after) + 1)
        end = profile.scaled(found.end.tokens)
        begin = found.end.tokens - len(found.starts) + 1
        first = max(end - number, profile.scaled(begin))
        return LastTokens(Total(end, exact=False), self._of_base(first, end, begin, found.starts))

    def token_at(self, byte: int) -> int:
        return self._token(byte, self._base.token_at(byte))

    def position(self, byte: int) -> Total:
        return Total(self._token(byte, self._base.position(byte).tokens), exact=False)

    def positions(self, places: Sequence[int]) -> Sequence[tuple[int, bool]]:
        found = []
        for place, (base, is_start) in zip(places, self._base.positions(places), strict=True):
            token = self._token(place, base)
            found.append((token, is_start and token == self._profile.scaled(base)))
        return found

    def _token(self, byte: int, base: int) -> int:
        """Return the token that contains a byte, given the base token."""
        token = self._profile.scaled(base)
        # A factor below 1 lets several base tokens share a token.
        return token if byte >= self._payload.size else min(token, self._profile.scaled(base + 1) - 1)


class ProfileFamily:
    """The names of all profiles. One that the user has calibrated comes before a shipped one of its name."""

    names = (*SHIPPED,)

    def open(self, name: str, env: Environment | None = None) -> ProfileTokenizer | None:
        profile = find(name, env)
        if profile is None:
            return None
        base = EMBEDDED.open(BASE)
        assert base
        return ProfileTokenizer(profile, base)

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return None if find(name, env) is None else ""


def find(name: str, env: Environment | None) -> Profile | None:
    """Return the profile of this name; None if there is none."""
    if not is_name(name):
        return None
    try:
        with open(path_of(name, env), "rb", buffering=0) as file:
            return Profile.unpacked(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return SHIPPED.get(name)
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except ValueError:
        problem = "is damaged or of another version of tokcap"
    raise TokenizerUnavailable(
        f"--tokenizer: the profile {name!r} {problem}; remove it: tokcap tokenizer remove {name}"
    )


def path_of(name: str, env: Environment | None) -> str:
    return os.path.join(place_of(env, PROFILES), name)


def save(profile: Profile, env: Environment) -> None:
    """Store a profile, in place of one that has its name."""
    from tokcap.system import private_files

    private_files.make_directory(place_of(env, PROFILES))
    private_files.replace_file(path_of(profile.name, env), profile.packed())


def remove(name: str, env: Environment) -> bool:
    """Remove a profile of the user; False if there is none."""
    if not is_name(name):
        return False
    try:
        os.unlink(path_of(name, env))
    except (FileNotFoundError, NotADirectoryError):
        if name in SHIPPED:
            raise TokenizerRefused(f"the profile {name} comes with tokcap and cannot be removed") from None
        return False
    return True


FAMILY = ProfileFamily()
