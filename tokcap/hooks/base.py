"""The interface of an agent, and the classes for the usual ways to reach what its model receives.

This module is loaded for every event of an agent, so it must not import anything slow.
"""

from __future__ import annotations

import os

from tokcap.environment import Frame
from tokcap.errors import HookRefused
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tokcap.hooks.own_files import OwnFile
    from tokcap.hooks.settings import Addition

    # Takes a text, and changes of the request for it, and returns it within the limit.
    Cap = Callable[..., str]

# The ways in.
AS_SHELL = "its shell is tokcap-bash"
START_UP_FILE = "BASH_ENV of its shell"
RESULTS = "results are replaced after the run"
# How tokcap gets the options of an installation.
VARIABLES = {
    "--token-limit": "TOKCAP_TOKEN_LIMIT",
    "--session": "TOKCAP_SESSION",
    "--repeat": "TOKCAP_REPEAT",
    "--keep": "TOKCAP_KEEP",
    "--tokenizer": "TOKCAP_TOKENIZER",
    "--redact": "TOKCAP_REDACT",
}
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

    def variables(self) -> dict[str, str]:
        """Return the variables that tell tokcap the options."""
        given = {VARIABLES[flag]: self.option(flag) for flag in VARIABLES}
        return {name: value for name, value in given.items() if value and value != OF_AGENT}


class Agent:
    """A coding agent that tokcap supports.

    How tokcap reaches what the agent's model receives is decided by the agent's class: `install` writes files
    of its own, the first of which names the installation, and names them in the agent's settings. The agent
    may send events to `tokcap hook run NAME`.
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
    # How the agent passes the output of a command to its model. The tokens are rounded up: people compare
    # agents in one tokenizer, and cl100k_base has 5 to 9 % more for random text than what some readers count
    # with. `cut` is the least that the agent has sent of a long output (a build, one line, JSON), or 1,000.
    frame: Frame = Frame()
    # The least and the most tokens that the agent itself has sent of such outputs.
    sent: tuple[int, int] = (0, 0)
    # Whether it gives its model both streams as one, as they arrive. Two pipes would lose their order.
    merges_streams: bool = False
    # The variable in which commands of the agent find the name of its session; empty if there is none.
    session_variable: str = ""
    # Where the agent notes what its model has used, below the directory of its settings; `{}` is the session.
    usage_files: str = ""
    # How to start the agent so that the hook has an effect, in one line; `{}` is the start-up file.
    then: str = ""
    # The model that it uses if its settings name none; empty if that is not known.
    usual_model: str = ""

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

    def written_by_model(self, line: dict[str, Any]) -> tuple[str, int] | None:
        """Return the id of an answer of the model, and its tokens, if a line of `usage_files` has them.

        Errors of missing keys count as None.
        """
        return None

    def passes_on(self) -> str:
        """Return how much of an output the agent itself passes on, in a few words."""
        units = {"characters": "characters", "failed": "of a failure", "size": "bytes", "lines": "lines"}
        parts = [f"{most} {unit}" for name, unit in units.items() if (most := getattr(self.frame, name))]
        return f"{', '.join(parts)}; {self.sent[0]} to {self.sent[1]} tokens of more"

    def objections(self, place: Place) -> list[str]:
        """Return why an installed hook has no effect here, one line per reason."""
        return []

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        """Return the files to write."""
        raise NotImplementedError

    def all_files(self, path: str) -> Sequence[OwnFile]:
        """Return every file that any installation may have written."""
        return self.files(path, Installation("tokcap", ("--tools", ",".join(self.tools))))

    def variables(self, wanted: Installation) -> dict[str, str]:
        """Return variables of tokcap besides the options of the installation."""
        found = {
            "TOKCAP_FRAME": self.frame.as_text(),
            "TOKCAP_STDERR": "merge" if self.merges_streams else "",
        }
        if wanted.option("--session") == OF_AGENT:
            found["TOKCAP_SESSION_FROM"] = self.session_variable
        if total := wanted.option("--total"):
            found["TOKCAP_SESSION_TOTAL"] = total
            found["TOKCAP_SESSION_MODES"] = "fixed" if wanted.option("--hard") else "soft"
            found["TOKCAP_AGENT"] = self.name
        return {name: value for name, value in found.items() if value}

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        """Return what to add to the settings."""
        return ()

    def installation(self, path: str) -> Installation | None:
        """Return what is installed for a settings file; `HookRefused` if the file cannot be read."""
        from tokcap.hooks import own_files, settings

        data = settings.read(path)
        additions = self.additions(path, Installation(""))
        if additions and not any(settings.found(path, data, addition) for addition in additions):
            return None
        text = own_files.read(self.all_files(path)[0].path)
        if text is None:
            return Installation("") if additions else None
        return own_files.installation_in(text)

    def install(self, path: str, wanted: Installation) -> bool:
        """Install the hook for a settings file; return False if the same hook is installed already."""
        from tokcap.hooks import settings

        known = self.installation(path)
        files = self.files(path, wanted)
        changed = False
        if known is not None and known != wanted:
            # So that the version without the hook is found byte for byte later.
            changed = bool(known_additions := self.additions(path, known)) and settings.remove(
                path, known_additions
            )
        try:
            for file in files:
                changed = file.write() or changed
            additions = self.additions(path, wanted)
            changed = (bool(additions) and settings.install(path, additions)) or changed
        except HookRefused:
            if known is None:
                self.remove_files(path)
            raise
        needed = {file.path for file in files}
        left_over = [file.remove() for file in self.all_files(path) if file.path not in needed]
        return changed or any(left_over)

    def remove(self, path: str) -> bool:
        """Remove the hook of a settings file; return False if there is none."""
        from tokcap.hooks import settings

        additions = self.additions(path, self.installation(path) or Installation(""))
        changed = bool(additions) and settings.remove(path, additions)
        return self.remove_files(path) or changed

    def remove_files(self, path: str) -> bool:
        removed = [file.remove() for file in self.all_files(path)]
        return any(removed)

    def printed(self, path: str, wanted: Installation) -> str:
        """Return the files that `install` would write to an empty directory."""
        from tokcap.hooks import settings

        parts = [(file.path, file.text) for file in self.files(path, wanted)]
        if additions := self.additions(path, wanted):
            parts.append((path, settings.with_additions(path, None, additions).decode()))
        return "\n".join(f"# {name}\n{text}" for name, text in parts)

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


class ShellAgent(Agent):
    """An agent whose settings name the shell that it uses."""

    # Where that is in the settings.
    keys: tuple[str, ...]
    # The shells that it knows. It uses the user's own shell if that is one of them, else bash.
    shells: tuple[str, ...] = ("bash",)

    def shell(self) -> str:
        """Return which shell the agent uses."""
        name = os.path.basename(os.environ.get("SHELL", ""))
        return name if name in self.shells else "bash"

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        from tokcap.hooks.own_files import shell_file

        return [shell_file(path, self.shell(), wanted, self.variables(wanted))]

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.json_settings import JsonValue

        return [JsonValue(self.files(path, wanted)[0].path, self.keys)]

    def shell_words(self, path: str, command: str) -> tuple[list[str], dict[str, str]]:
        return [self.all_files(path)[0].path, "-c", command], {}


class StartUpAgent(Agent):
    """An agent that runs `bash -c STRING`, and whose settings can set variables for it."""

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        from tokcap.hooks.own_files import start_up_file

        return [start_up_file(path, wanted, self.variables(wanted))]

    def shell_words(self, path: str, command: str) -> tuple[list[str], dict[str, str]]:
        return ["bash", "-c", command], {"BASH_ENV": self.all_files(path)[0].path}


class StartedWithAgent(StartUpAgent):
    """An agent whose settings cannot set `BASH_ENV`, but which passes on its own environment.

    `install` only writes the start-up file, and says how to start the agent with it.
    """

    # Below the home directory; and the name of the file, which stands for settings.
    directory: str
    file: str = "bash_env.sh"

    def user_settings(self, place: Place) -> str:
        return f"{place.home}/{self.directory}/tokcap/{self.file}"

    def home_directory(self, place: Place) -> str:
        return f"{place.home}/{self.directory}"

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        return [file.replace(path=path) for file in super().files(path, wanted)]
