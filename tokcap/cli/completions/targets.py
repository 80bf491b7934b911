"""Where each shell and `man` look for the files of tokcap, and how to ask them what they find.

To add one, write a class with the interface of `Target` and add it to `TARGETS`.
"""

from __future__ import annotations

import os

from tokcap.cli.completions import script_for
from tokcap.cli.completions.asking import ASKING, BEGIN, END, Question, ask_all
from tokcap.cli.completions.own_files import OwnFile, content, installed_pages, is_text
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.quoting import always_quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.cli.completions import Shell
    from tokcap.cli.completions.asking import Spoken
    from tokcap.environment import Environment

# The owner only: zsh refuses directories that others can write to.
OTHERS_WRITE = 0o022


class Answer(Record):
    """What a program finds."""

    found: bool = False
    # The file that it takes, or the start-up file that makes the completion; empty if it has no name.
    path: str = ""
    # Where the shell has its start-up files, if it says so.
    startup_directory: str = ""
    # Where the shell looks, if it is told by a variable.
    directories: tuple[str, ...] = ()
    # Why the program could not be asked.
    failure: str = ""

    @classmethod
    def of(cls, spoken: Spoken) -> Answer:
        if spoken.failure:
            return cls(failure=spoken.failure)
        found, path, startup_directory, *directories = (*spoken.lines, "", "", "")
        return cls(found == "yes", path, startup_directory, tuple(filter(None, directories)))


class Target:
    """One program that reads files of tokcap."""

    name: str
    # The files, as messages call them.
    what = "completion"
    # When it is found, and when it is not.
    effect = ", from the next shell on"
    condition = ""
    comment = "#"
    # What a file of any version of tokcap has near its beginning.
    signature: bytes
    # Prints yes or no, a path, the directory of start-up files, and directories of functions.
    script: str

    def question(self, env: Environment) -> Question:
        """Return the call that asks the program."""
        raise NotImplementedError

    def files(self, env: Environment, answer: Answer) -> Sequence[OwnFile]:
        """Return the files to install."""
        raise NotImplementedError

    def startup_file(self, env: Environment, answer: Answer) -> str:
        """Return the file that can load what the program does not find itself; empty if there is none."""
        return ""

    def startup_lines(self, path: str) -> str:
        """Return the lines that load an installed file."""
        raise NotImplementedError

    def is_current(self, answer: Answer, files: Sequence[OwnFile]) -> bool:
        """Return whether what was found is of this version."""
        found = content(answer.path)
        if self.signature not in found[:200]:
            # Not a file of ours: a start-up file that calls tokcap itself, or a compressed page.
            return True
        return any(is_text(found, file.text) for file in files)


class ShellTarget(Target):
    """A shell that completes the words of tokcap."""

    name: Shell

    def question(self, env: Environment) -> Question:
        text = self.script.replace("@begin@", BEGIN).replace("@end@", END)
        return Question((self.name, "-i", "-c", text), self.variables(env))

    def variables(self, env: Environment) -> Mapping[str, str]:
        return env.variables

    def files(self, env: Environment, answer: Answer) -> Sequence[OwnFile]:
        return [OwnFile(self.place(env, answer), script_for(self.name).encode())]

    def place(self, env: Environment, answer: Answer) -> str:
        """Return the path of the script."""
        raise NotImplementedError


class Bash(ShellTarget):
    name: Shell = "bash"
    signature = b"# bash completion for tokcap"
    # The library loads completions when TAB is pressed: call what it would call then. With `extdebug`,
    # `declare -F` prints the file of a function.
    script = r"""
if ! complete -p tokcap && [[ $(complete -p -D) =~ -F\ ([^ ]+) ]]; then
    "${BASH_REMATCH[1]}" tokcap '' tokcap
fi >/dev/null 2>&1
found=no path=
if [[ $(complete -p tokcap 2>/dev/null) == *' -F _tokcap '* ]]; then
    found=yes
    shopt -s extdebug
    read -r _ _ path < <(declare -F _tokcap)
fi
directory=${BASH_COMPLETION_USER_DIR%%:*}
printf '%s\n' '@begin@' "$found" "$path" '' "${directory:+$directory/completions}" '@end@'
exit
"""

    def place(self, env: Environment, answer: Answer) -> str:
        own = os.path.join(data_home(env), "bash-completion", "completions")
        return os.path.join(next(iter(answer.directories), own), "tokcap")

    def startup_file(self, env: Environment, answer: Answer) -> str:
        return os.path.join(env.home(), ".bashrc")

    def startup_lines(self, path: str) -> str:
        return f"if [ -r {always_quoted(path)} ]; then . {always_quoted(path)}; fi\n"


class Zsh(ShellTarget):
    name: Shell = "zsh"
    signature = b"#compdef tokcap"
    script = r"""
found=no file=
if [[ ${_comps[tokcap]-} == _tokcap ]] && autoload +X _tokcap 2>/dev/null; then
    found=yes
    zmodload zsh/parameter
    file=${functions_source[_tokcap]-}
fi
print -rl -- '@begin@' $found "$file" "${ZDOTDIR:-$HOME}" $fpath '@end@'
exit
"""

    def place(self, env: Environment, answer: Answer) -> str:
        own = os.path.join(data_home(env), "zsh", "site-functions")
        if own not in answer.directories:
            own = next(filter(lambda path: is_for_functions(path, env), answer.directories), own)
        return os.path.join(own, "_tokcap")

    def startup_file(self, env: Environment, answer: Answer) -> str:
        directory = answer.startup_directory or env.variables.get("ZDOTDIR") or env.home()
        return os.path.join(directory, ".zshrc")

    def startup_lines(self, path: str) -> str:
        # `compdef` needs no `compinit` that looks at all files again, and works whatever .zcompdump says. A
        # later `compinit` finds the function in `fpath`. A shell that is only asked leaves no .zcompdump.
        return (
            f"if [[ -r {always_quoted(path)} ]]; then\n"
            f"    fpath=({always_quoted(os.path.dirname(path))} $fpath)\n"
            "    autoload -Uz compinit _tokcap\n"
            f"    (( $+functions[compdef] )) || compinit -i ${{{ASKING}:+-D}}\n"
            "    compdef _tokcap tokcap\n"
            "fi\n"
        )


class Fish(ShellTarget):
    name: Shell = "fish"
    signature = b"# fish completion for tokcap"
    # fish completes only commands that exist.
    script = r"""
type -q tokcap; or function tokcap; end
set found no
complete -C 'tokcap --token-lim' | string match -q -- '--token-limit*'; and set found yes
set file ''
for directory in $fish_complete_path
    if test -f $directory/tokcap.fish
        set file $directory/tokcap.fish
        break
    end
end
printf '%s\n' '@begin@' $found "$file" '@end@'
exit
"""

    def variables(self, env: Environment) -> Mapping[str, str]:
        # fish creates directories of its own if there are none; here it cannot.
        nowhere = {
            name: os.devnull
            for name, home in (("XDG_CONFIG_HOME", config_home(env)), ("XDG_DATA_HOME", data_home(env)))
            if not os.path.isdir(os.path.join(home, "fish"))
        }
        return {**env.variables, **nowhere}

    def place(self, env: Environment, answer: Answer) -> str:
        return os.path.join(config_home(env), "fish", "completions", "tokcap.fish")


class Man(Target):
    """The man pages. `man` looks beside the directories of PATH: for ~/.local/bin in ~/.local/share/man."""

    name = "man"
    what = "man pages"
    effect = ""
    condition = "; it does if ~/.local/bin is in PATH"
    comment = r".\""
    signature = b".Dt TOKCAP"
    script = r"""
if path=$(man -w tokcap 2>/dev/null); then found=yes; else found=no; fi
printf '%s\n' '@begin@' "$found" "$path" '@end@'
"""

    def question(self, env: Environment) -> Question:
        text = self.script.replace("@begin@", BEGIN).replace("@end@", END)
        return Question(("sh", "-c", text), env.variables)

    def files(self, env: Environment, answer: Answer) -> Sequence[OwnFile]:
        local = os.path.join(env.home(), ".local")
        beside = os.path.join(local, "bin") in env.variables.get("PATH", "").split(os.pathsep)
        place = os.path.join(os.path.join(local, "share") if beside else data_home(env), "man")
        return [
            OwnFile(os.path.join(place, f"man{path[-1]}", os.path.basename(path)), content(path))
            for path in installed_pages()
        ]

    def is_current(self, answer: Answer, files: Sequence[OwnFile]) -> bool:
        if answer.path in [file.path for file in files]:
            return all(is_text(content(file.path), file.text) for file in files)
        return super().is_current(answer, files)


TARGETS: Mapping[str, Target] = {target.name: target for target in (Bash(), Zsh(), Fish(), Man())}


def ask(targets: Sequence[Target], env: Environment) -> list[Answer]:
    """Ask several programs at the same time."""
    return [Answer.of(spoken) for spoken in ask_all([target.question(env) for target in targets])]


def data_home(env: Environment) -> str:
    return env.variables.get("XDG_DATA_HOME") or os.path.join(env.home(), ".local/share")


def config_home(env: Environment) -> str:
    return env.variables.get("XDG_CONFIG_HOME") or os.path.join(env.home(), ".config")


def is_for_functions(path: str, env: Environment) -> bool:
    """Return whether a directory of `fpath` is one in which the user keeps functions."""
    home = os.path.realpath(env.home())
    real = os.path.realpath(path)
    if not real.startswith(home + os.sep) or not os.access(real, os.W_OK | os.X_OK):
        return False
    status = os.stat(real)
    if status.st_uid != os.geteuid() or status.st_mode & OTHERS_WRITE:
        return False
    # A framework of functions is a checkout, which its own updates must find unchanged.
    while real != home:
        if os.path.exists(os.path.join(real, ".git")):
            return False
        real = os.path.dirname(real)
    return True
