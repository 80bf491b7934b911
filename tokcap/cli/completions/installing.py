"""Install and remove completions and man pages: files where programs look, else a block in a start-up file.

Only files with an intact stamp are replaced or removed; every other file belongs to somebody else.
"""

from __future__ import annotations

import os

from tokcap.cli.completions import startup_file
from tokcap.cli.completions.own_files import content, is_text
from tokcap.cli.completions.stamp import stamped, unstamped
from tokcap.cli.completions.targets import Answer, ask
from tokcap.hooks import settings_file
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.cli.completions.own_files import OwnFile
    from tokcap.cli.completions.targets import Target
    from tokcap.environment import Environment

# Whatever the umask: zsh refuses directories that others can write to.
DIRECTORY_MODE = 0o755


class Outcome(Record):
    """What was done, in lines for people, and whether all of it worked."""

    messages: tuple[str, ...]
    succeeded: bool = True


def install(target: Target, env: Environment) -> Outcome:
    """Make a program find the files of this version. Nothing is changed if it does already."""
    (answer,) = ask([target], env)
    files = target.files(env, answer)
    if not files:
        return Outcome((f"{target.name}: this installation has no {target.what}",), succeeded=False)
    if finds_current(target, answer, files):
        where = f" in {answer.path}" if answer.path else ""
        return Outcome((f"{target.name}: finds the {target.what}{where} already",))
    if in_the_way := obstacles(files):
        refusals = [f"{target.name}: {refusal(target, path)}" for path in in_the_way]
        return Outcome(tuple(refusals), succeeded=False)
    written = write_files(target, files)
    messages = [f"{target.name}: wrote {named(written)}"] if written else []
    (answer,) = ask([target], env)
    startup = target.startup_file(env, answer)
    if startup and not finds_current(target, answer, files):
        done = load_at_startup(target, startup, files[0].path)
        messages += done.messages
        if not done.succeeded:
            return Outcome(tuple(messages), succeeded=False)
        (answer,) = ask([target], env)
    if finds_current(target, answer, files):
        return Outcome((*messages, f"{target.name}: finds the {target.what}{target.effect}"))
    place = os.path.dirname(files[0].path)
    why = answer.failure or f"it does not look in {place} first{target.condition}"
    return Outcome((*messages, f"{target.name}: does not find the {target.what}: {why}"), succeeded=False)


def finds_current(target: Target, answer: Answer, files: Sequence[OwnFile]) -> bool:
    """Return whether a program finds the files of this version."""
    return answer.found and target.is_current(answer, files)


def uninstall(targets: Sequence[Target], env: Environment) -> Outcome:
    """Remove what `install` wrote, byte for byte, and the directories that it had to create."""
    created: list[tuple[str, int]] = []
    done: list[str] = []
    kept: list[str] = []
    for target, answer in zip(targets, ask(targets, env), strict=True):
        block = remove_block(target.startup_file(env, answer))
        files = [remove_file(file) for file in candidates(target, env, answer)]
        if block.path:
            done.append(f"{target.name}: removed the block from {block.path}")
        if removed := [file.path for file in files if file.path]:
            done.append(f"{target.name}: removed {named(removed)}")
        kept += [f"{target.name}: {one.kept}" for one in (block, *files) if one.kept]
        created += [(one.path, one.directories) for one in (block, *files)]
    # After all files: one directory can have several of them in it.
    remove_directories(created)
    return Outcome((*done, *kept), succeeded=bool(done) and not kept)


class Removed(Record):
    """A file of ours that was removed, or why something was kept."""

    path: str = ""
    # How many directories had been created for it.
    directories: int = 0
    kept: str = ""


def remove_block(startup: str) -> Removed:
    """Remove our block from a start-up file, and the file if there was none before."""
    before = (settings_file.read(startup) if startup else None) or b""
    if not startup_file.has_block(before):
        return Removed()
    removal = startup_file.without_block(before)
    if removal is None:
        return Removed(kept=f"{startup}: the block of tokcap was edited; remove it by hand")
    settings_file.refuse_read_only(startup)
    if removal.created and not removal.data:
        settings_file.delete(startup)
    else:
        settings_file.write(startup, removal.data)
    return Removed(startup, max(removal.created - 1, 0))


def remove_file(file: OwnFile) -> Removed:
    """Remove a file if it is ours. One without a stamp and without a change is that of an installer."""
    data = content(file.path)
    known = unstamped(data)
    if known is not None and not os.path.islink(file.path):
        settings_file.delete(file.path)
        return Removed(file.path, known.created)
    if not data or data == file.text:
        return Removed()
    return Removed(kept=f"{file.path}: not written by tokcap completion install, or edited; not removed")


def obstacles(files: Sequence[OwnFile]) -> list[str]:
    """Return the paths at which there is something that is not ours."""
    found = []
    for file in files:
        data = content(file.path)
        ours = is_text(data, file.text) or (unstamped(data) is not None and not os.path.islink(file.path))
        if os.path.lexists(file.path) and not ours:
            found.append(file.path)
    return found


def move_away(path: str) -> str:
    """Return the command that makes room. No shell loads a file whose name ends in `~`."""
    return f"mv {quoted(path)} {quoted(path + '~')}"


def refusal(target: Target, path: str) -> str:
    again = f"tokcap completion install {target.name}"
    return f"{path}: not written by tokcap, or edited; to replace it: {move_away(path)} && {again}"


def write_files(target: Target, files: Sequence[OwnFile]) -> list[str]:
    """Write the files that differ, and return their paths."""
    stale = [file for file in files if not is_text(content(file.path), file.text)]
    for file in stale:
        known = unstamped(content(file.path))
        created = known.created if known else make_directories(file.path)
        settings_file.write(file.path, stamped(file.text, target.comment, created))
    return [file.path for file in stale]


def load_at_startup(target: Target, startup: str, path: str) -> Outcome:
    """Add the block that loads the completion; replace that of another version."""
    before = settings_file.read(startup)
    data = before or b""
    created = 0 if before is not None else make_directories(startup) + 1
    if startup_file.has_block(data):
        removal = startup_file.without_block(data)
        if removal is None:
            message = f"{target.name}: {startup}: the block of tokcap was edited; remove it and install again"
            return Outcome((message,), succeeded=False)
        data, created = removal.data, removal.created
    lines = target.startup_lines(path)
    settings_file.refuse_read_only(startup)
    settings_file.write(startup, startup_file.with_block(data, lines, created))
    return Outcome((f"{target.name}: added a block to {startup}, which loads it",))


def candidates(target: Target, env: Environment, answer: Answer) -> Sequence[OwnFile]:
    """Return the files that `install` may have written."""
    # The shell may have had other directories then.
    files = [file for given in (answer, Answer()) for file in target.files(env, given)]
    for directory in answer.directories:
        path = os.path.join(directory, os.path.basename(files[0].path))
        if unstamped(content(path)):
            files.append(files[0].but(path=path))
    return [*{file.path: file for file in files}.values()]


def make_directories(path: str) -> int:
    """Create the directories above a file; return how many were missing."""
    missing = []
    directory = os.path.dirname(path)
    while directory and not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for directory in reversed(missing):
        os.mkdir(directory, DIRECTORY_MODE)
    return len(missing)


def remove_directories(created: Sequence[tuple[str, int]]) -> None:
    """Remove the directories that were created for files, as far as they are empty now."""
    directories = set()
    for path, number in created:
        for _ in range(number):
            path = os.path.dirname(path)
            directories.add(path)
    for directory in sorted(directories, key=len, reverse=True):
        try:
            os.rmdir(directory)
        except OSError:
            # Others have put something into it.
            continue


def named(paths: Sequence[str]) -> str:
    """Return the path of a file, or the number of files and their directory."""
    return paths[0] if len(paths) == 1 else f"{len(paths)} files in {os.path.commonpath(paths)}"
