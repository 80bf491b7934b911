"""A profile: how many tokens of a closed vocabulary the tokens of a base encoding are worth, by kind of text.

A file has a line for each field, and one for each kind.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens.kinds import BLOCK, PART_OF, SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "tokcap profile 1"
LONGEST_FILE_BYTES = 1 << 20
# What kinds have that a profile does not name.
OTHER = "other"
OTHER_SCRIPTS = "other scripts"
KIND = "kind "


class Factors(Record):
    """For each kind of base token: units for the token, and units for each of its bytes."""

    by_kind: Mapping[str, tuple[int, int]]

    def of(self, kind: str) -> tuple[int, int]:
        found = self.by_kind.get(kind) or self.by_kind.get(PART_OF.get(kind, ""))
        if found is None and (kind in SCRIPTS or kind.startswith(BLOCK)):
            found = self.by_kind.get(OTHER_SCRIPTS)
        return found or self.by_kind[OTHER]


class Profile(Record):
    """Everything that is known about one profile."""

    name: str
    # The embedded encoding whose tokens are weighted.
    base: str
    # Where the factors come from, in one line.
    source: str
    # How far a count is off, in thousandths of the true count: the mean over kinds of text, and the most for
    # a kind; and by how much a limit may be passed.
    mean_error: int
    most_error: int
    most_above: int
    # How many texts it was fitted to, and how many were held out to find the errors; 0: it was not fitted.
    fitted_texts: int
    held_out_texts: int
    # The beginning of the SHA-256 digest of the factors.
    digest: str
    factors: Factors

    def packed(self) -> bytes:
        lines = [FORMAT, *(f"{key} {value}" for key, value in self.fields().items())]
        for kind, (per_token, per_byte) in sorted(self.factors.by_kind.items()):
            lines.append(f"{KIND}{per_token} {per_byte} {kind}")
        return "".join(f"{line}\n" for line in lines).encode()

    def fields(self) -> dict[str, str | int]:
        """Return all fields except the factors."""
        return {key: value for key, value in self.__dict__.items() if key != "factors"}

    @classmethod
    def unpacked(cls, data: bytes) -> Profile:
        """Read what `packed` wrote; `ValueError` if it is something else."""
        form, *lines = data.decode().splitlines()
        if form != FORMAT or len(data) > LONGEST_FILE_BYTES:
            raise ValueError(f"not a profile of this version: {form[:40]!r}")
        values: dict[str, str | int] = {}
        by_kind: dict[str, tuple[int, int]] = {}
        for line in lines:
            if line.startswith(KIND):
                _, per_token, per_byte, kind = line.split(" ", 3)
                by_kind[kind] = int(per_token), int(per_byte)
                if min(by_kind[kind]) < 0:
                    raise ValueError(f"a negative factor: {line[:40]!r}")
            else:
                key, value = line.split(" ", 1)
                values[key] = value if key in ("name", "base", "source", "digest") else int(value)
        if OTHER not in by_kind:
            raise ValueError("a part is missing")
        return cls(factors=Factors(by_kind), **values)  # type: ignore[arg-type]  # which key is which


def digest_of(base: str, factors: Factors) -> str:
    """Return the digest of what decides a count."""
    from hashlib import sha256

    lines = [base, *(f"{kind} {values}" for kind, values in sorted(factors.by_kind.items()))]
    return sha256("\n".join(lines).encode()).hexdigest()[:16]
