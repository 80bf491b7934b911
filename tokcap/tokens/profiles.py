"""The family of profiles: those that come with tokcap, and those that the user has calibrated, by name."""

from __future__ import annotations

import os

from tokcap.errors import TokenizerUnavailable
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.embedded import DIRECTORY
from tokcap.tokens.embedded import FAMILY as EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment
    from tokcap.tokens.profile import Profile
    from tokcap.tokens.profile_tokenizer import ProfileTokenizer

# Each has a file in `data`.
SHIPPED = ("claude", "claude-4.6", "gemini")
SUFFIX = ".profile"
# A directory in the data directory.
PROFILES = "profiles"

# Threads may share the tokenizers. By path: another data directory may have another profile of the same name.
_opened: dict[str, tuple[bytes, ProfileTokenizer]] = {}


class ProfileFamily:
    """The names of all profiles. One that the user has calibrated comes before a shipped one of its name."""

    names = SHIPPED

    def open(self, name: str, env: Environment | None = None) -> ProfileTokenizer | None:
        found = read(name, env)
        if found is None:
            return None
        path, packed = found
        before = _opened.get(path)
        if before and before[0] == packed:
            return before[1]
        from tokcap.tokens.profile_tokenizer import ProfileTokenizer

        profile = unpacked(name, packed)
        base = EMBEDDED.open(profile.base)
        if base is None:
            raise damaged(name)
        tokenizer = ProfileTokenizer(profile, base)
        _opened[path] = (packed, tokenizer)
        return tokenizer

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        found = read(name, env)
        if found is None:
            return None
        unpacked(name, found[1])
        return ""


def read(name: str, env: Environment | None) -> tuple[str, bytes] | None:
    """Return the file of a profile, and its content; None if there is none."""
    from tokcap.tokens.added import is_name

    if not is_name(name):
        return None
    paths = [os.path.join(place_of(env), name + SUFFIX)]
    if name in SHIPPED:
        paths.append(os.path.join(DIRECTORY, name + SUFFIX))
    for path in paths:
        try:
            with open(path, "rb", buffering=0) as file:
                return path, file.read()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise TokenizerUnavailable(
                f"--tokenizer: the profile {name!r} cannot be read: {error.strerror}; "
                f"remove it: tokcap tokenizer remove {name}"
            ) from None
    return None


def unpacked(name: str, packed: bytes) -> Profile:
    from tokcap.tokens.profile import Profile

    try:
        return Profile.unpacked(packed)
    except (ValueError, TypeError):
        raise damaged(name) from None


def damaged(name: str) -> TokenizerUnavailable:
    return TokenizerUnavailable(
        f"--tokenizer: the profile {name!r} is damaged or of another version of tokcap; "
        f"remove it: tokcap tokenizer remove {name}"
    )


def place_of(env: Environment | None) -> str:
    """Return the directory of the user's own profiles."""
    if env is None:
        from tokcap.environment import Environment

        env = Environment(os.environ)
    return os.path.join(env.data_dir(), PROFILES)


def own_names(env: Environment) -> Sequence[str]:
    """Return the names of the profiles that the user has calibrated."""
    try:
        return sorted(
            name.removesuffix(SUFFIX) for name in os.listdir(place_of(env)) if name.endswith(SUFFIX)
        )
    except (FileNotFoundError, NotADirectoryError):
        return ()


FAMILY = ProfileFamily()
