"""The protocol of an agent, and the records that are passed to it.

This module is loaded for every event of an agent, so it must not import anything slow.
"""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    # Takes a text, and options of tokcap for it, and returns it within the limit.
    Cap = Callable[..., str]

# The ways in.
AS_SHELL = "its shell is tokcap-bash"
START_UP_FILE = "BASH_ENV of its shell"
RESULTS = "results are replaced after the run"


# For `--session`: a session for each session of the agent.
OF_AGENT = "@agent"


class Place(Record):
    """The directories and variables that decide which settings apply. Tests pass their own."""

    home: str
    project: str
    variables: Mapping[str, str]


class Installation(Record):
    """What an installed hook calls: the program, and the options given to `tokcap hook install`."""

    program: str
    options: tuple[str, ...] = ()

    def option(self, flag: str) -> str:
        """Return the value of an option; empty if it is not given."""
        return self.options[self.options.index(flag) + 1] if flag in self.options else ""

    def limited(self, limit: str) -> Installation:
        """Return the same installation with this limit."""
        return self.but(options=("--token-limit", limit, *self.options))


class Capping(Record):
    """What applies to the results of a hook: its own options, else variables and the config file."""

    limit_tokens: int = 4000
    keep: str = "auto"
    tokenizer: str = "cl100k_base"


class Agent:
    """A coding agent that tokcap supports.

    How tokcap reaches what the agent's model receives is decided by the agent's class. Callers see only that
    something is installed for a settings file, and that the agent may send events to `tokcap hook run NAME`.
    """

    name: str
    # The name that people use, and the name of the program.
    title: str
    program: str = ""
    # How the hook works, in a few words, and what it covers, in one line.
    way: str
    effect: str
    # The version of the agent that all of this was tried with; empty if it was not.
    tried: str
    # The names of tools whose results can be capped as well, for `--tools`.
    tools: Sequence[str] = ()
    # What the agent puts around the output of a command: tokens, and `:json` if it escapes the output as JSON
    # does. The limit covers this too. See `system.frame`. It is rounded up: people compare agents in one
    # tokenizer, and cl100k_base has 5 to 9 % more tokens for random text than what some readers count with.
    frame: str = ""
    # Whether it gives its model both streams as one, as they arrive. Two pipes would lose their order.
    merges_streams: bool = False
    # The variable in which commands of the agent find the name of its session; empty if there is none.
    session_variable: str = ""
    # How to start the agent so that the hook has an effect, in one line; `{}` is the start-up file.
    then: str = ""
    # The model that it uses if its settings name none; empty if that is not known.
    usual_model: str = ""
    # What to print if an event needs no answer.
    no_answer: bytes = b""

    def user_settings(self, place: Place) -> str:
        """Return the path of the user's settings file."""
        raise NotImplementedError

    def project_settings(self, place: Place) -> str:
        """Return the path of the settings that one user has for a project; empty if there are none."""
        return ""

    def model(self, place: Place) -> str:
        """Return the model that the agent's settings name; empty if they name none or cannot be read."""
        return ""

    def is_present(self, place: Place) -> bool:
        """Return whether the agent is installed on this machine, or has been used here."""
        import shutil

        path = place.variables.get("PATH", "")
        found = self.program and shutil.which(self.program, path=path)
        return bool(found) or os.path.isdir(self.home_directory(place))

    def home_directory(self, place: Place) -> str:
        """Return the directory of the agent's settings, which it makes itself."""
        return os.path.dirname(self.user_settings(place))

    def objections(self, place: Place) -> list[str]:
        """Return why an installed hook has no effect here, one line per reason."""
        return []

    def installation(self, path: str) -> Installation | None:
        """Return what is installed for a settings file; `HookRefused` if the file cannot be read."""
        raise NotImplementedError

    def install(self, path: str, wanted: Installation) -> bool:
        """Install the hook for a settings file; return False if the same hook is installed already."""
        raise NotImplementedError

    def remove(self, path: str) -> bool:
        """Remove the hook of a settings file; return False if there is none."""
        raise NotImplementedError

    def printed(self, path: str, wanted: Installation) -> str:
        """Return the files that `install` would write to an empty directory."""
        raise NotImplementedError

    def shell_words(self, path: str, command: str) -> tuple[list[str], dict[str, str]]:
        """Return how the agent would run a command: words and variables. No words: results are replaced."""
        return [], {}

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        """Return the answer to an event, or None if the agent should continue unchanged.

        Any exception counts as None.
        """
        raise NotImplementedError

    def sample_event(self, text: str) -> dict[str, Any]:
        """Return an event with a result that contains a text, if results are replaced after the run."""
        raise NotImplementedError

    def text_of_answer(self, answer: dict[str, Any]) -> str:
        """Return the text that an answer replaces the result by."""
        raise NotImplementedError
