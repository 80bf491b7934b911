"""Agents for which `install` writes files of its own, and names them in the agent's settings."""

from __future__ import annotations

import os

from tokcap.errors import HookRefused
from tokcap.hooks.base import OF_AGENT, Agent, Installation
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.base import Place
    from tokcap.hooks.own_files import OwnFile
    from tokcap.hooks.settings import Addition


class FileAgent(Agent):
    """An agent with files and additions. The first file names the installation."""

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        """Return the files to write."""
        raise NotImplementedError

    def all_files(self, path: str) -> Sequence[OwnFile]:
        """Return every file that any installation may have written."""
        return self.files(path, Installation("tokcap", ("--tools", ",".join(self.tools))))

    def variables(self, wanted: Installation) -> dict[str, str]:
        """Return variables of tokcap besides the options of the installation."""
        found = {"TOKCAP_FRAME": self.frame, "TOKCAP_STDERR": "merge" if self.merges_streams else ""}
        if wanted.option("--session") == OF_AGENT:
            found["TOKCAP_SESSION_FROM"] = self.session_variable
        return {name: value for name, value in found.items() if value}

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        """Return what to add to the settings."""
        return ()

    def installation(self, path: str) -> Installation | None:
        from tokcap.hooks import own_files, settings, settings_file

        data = settings_file.read(path)
        additions = self.additions(path, Installation(""))
        if additions and not any(settings.found(path, data, addition) for addition in additions):
            return None
        text = own_files.read(self.all_files(path)[0].path)
        if text is None:
            return Installation("") if additions else None
        return own_files.installation_in(text)

    def install(self, path: str, wanted: Installation) -> bool:
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
        from tokcap.hooks import settings

        additions = self.additions(path, self.installation(path) or Installation(""))
        changed = bool(additions) and settings.remove(path, additions)
        return self.remove_files(path) or changed

    def remove_files(self, path: str) -> bool:
        removed = [file.remove() for file in self.all_files(path)]
        return any(removed)

    def printed(self, path: str, wanted: Installation) -> str:
        from tokcap.hooks import settings

        parts = [(file.path, file.text) for file in self.files(path, wanted)]
        if additions := self.additions(path, wanted):
            parts.append((path, settings.with_additions(path, None, additions).decode()))
        return "\n".join(f"# {name}\n{text}" for name, text in parts)


class ShellAgent(FileAgent):
    """An agent whose settings name the shell that it uses."""

    # Where that is in the settings.
    keys: tuple[str, ...]

    def shell(self) -> str:
        """Return which shell the agent uses."""
        return "bash"

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        from tokcap.hooks.own_files import shell_file

        return [shell_file(path, self.shell(), wanted, self.variables(wanted))]

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.settings_value import JsonValue

        return [JsonValue(self.keys, self.files(path, wanted)[0].path)]

    def shell_words(self, path: str, command: str) -> tuple[list[str], dict[str, str]]:
        return [self.all_files(path)[0].path, "-c", command], {}


class UserShellAgent(ShellAgent):
    """An agent that would use the user's own shell, if that is one that it knows."""

    def shell(self) -> str:
        name = os.path.basename(os.environ.get("SHELL", ""))
        return name if name in ("bash", "zsh") else "bash"


class StartUpAgent(FileAgent):
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

    # Below the home directory.
    directory: str

    def user_settings(self, place: Place) -> str:
        return f"{place.home}/{self.directory}/tokcap/bash_env.sh"

    def home_directory(self, place: Place) -> str:
        return f"{place.home}/{self.directory}"

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        # There are no settings: the file itself stands for them.
        return [file.but(path=path) for file in super().files(path, wanted)]
