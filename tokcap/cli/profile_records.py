"""What `tokcap tokenizer list` and `show` say about profiles."""

from __future__ import annotations

from tokcap.errors import TokcapError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.profiles import SHIPPED, own_names, read, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.environment import Environment
    from tokcap.tokens.profile import Profile


def profile_record(name: str, env: Environment) -> dict[str, object] | None:
    """Return what is known about a profile; None if there is none of this name."""
    found = read(name, env)
    return None if found is None else record_of(unpacked(name, found[1]), is_own=name in own_names(env))


def record_of(profile: Profile, *, is_own: bool) -> dict[str, object]:
    return {
        "name": profile.name,
        "exact": False,
        "base": profile.base,
        "source": profile.source,
        "calibrated_here": is_own,
        "error": error_words(profile),
        "mean_error_percent": profile.mean_error / 10,
        "most_error_percent": profile.most_error / 10,
        "most_above_percent": profile.most_above / 10,
        "fitted_texts": profile.fitted_texts,
        "held_out_texts": profile.held_out_texts,
        "digest": profile.digest,
        "factors": factor_words(profile),
    }


def error_words(profile: Profile) -> str:
    mean, most, above = (
        f"{value / 10:g} %" for value in (profile.mean_error, profile.most_error, profile.most_above)
    )
    if profile.held_out_texts:
        return f"mean {mean}, at most {most} for a file; a limit may be passed by up to {above}"
    return f"about {mean}, up to {most}: how far the sources differ; not measured here"


def factor_words(profile: Profile) -> str:
    """Return the tokens for each base token of a kind: `digits 0.12 + 0.98/byte`."""
    parts = []
    for kind, (per_token, per_byte) in sorted(profile.factors.by_kind.items()):
        more = f" + {per_byte / 1000:g}/byte" if per_byte else ""
        parts.append(f"{kind} {per_token / 1000:g}{more}")
    return ", ".join(parts)


def all_names(env: Environment) -> Sequence[str]:
    return sorted({*SHIPPED, *own_names(env)})


def profile_records(env: Environment) -> Iterator[dict[str, object]]:
    for name in all_names(env):
        try:
            yield profile_record(name, env) or {"name": name}
        except TokcapError as error:
            yield {"name": name, "error": str(error)}


def profile_lines(env: Environment) -> dict[str, str]:
    """Return a line for each profile."""
    lines = {}
    for name in all_names(env):
        try:
            found = read(name, env)
            profile = unpacked(name, found[1]) if found else None
        except TokcapError as error:
            lines[name] = str(error)
            continue
        if profile:
            percent = f"{profile.mean_error / 10:g} %"
            lines[name] = f"profile of {profile.base}, error about {percent}  {profile.digest}"
    return lines
