"""An agent's settings file with our hook in it, and without: bytes -> bytes, then one atomic write.

A file that is not understood is refused and not touched. The first version is kept beside the file, and
removing the hook brings it back byte for byte if nothing else has changed.
"""

from __future__ import annotations

import os

from tokcap.errors import HookRefused
from tokcap.hooks import jsonc
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.hooks.agent import Agent

BACKUP_SUFFIX = ".before-tokcap"
MARK = b"\xef\xbb\xbf"


def install(path: str, agent: Agent, command: str) -> bool:
    """Put the hook into the file; False if it is there already."""
    data = read(path)
    if data is not None and installed_command(path, data, agent) == command:
        return False
    original = without_hook(path, data, agent)
    changed = with_hook(path, original, agent, command)
    refuse_read_only(path)
    if data == original:
        # Only a version without our hook is worth keeping; an older one is out of date.
        keep(path, original)
    try:
        write(path, changed)
    except HookRefused:
        forget(path, data)
        raise
    return True


def remove(path: str, agent: Agent) -> bool:
    """Take the hook out of the file; False if it is not there."""
    data = read(path)
    if data is None or installed_command(path, data, agent) is None:
        return False
    original = without_hook(path, data, agent)
    refuse_read_only(path)
    if original is None:
        delete(path)
    else:
        write(path, original)
    forget(path, original)
    return True


def installed_command(path: str, data: bytes | None, agent: Agent) -> str | None:
    """The command of our hook in the file, if it is there."""
    if data is None or not data.strip(MARK).strip():
        return None
    found = ours(root_of(path, text_of(path, data)), agent, path)
    if found is None:
        return None
    _, group, place = found
    hooks = group.member("hooks")
    node = hooks.items[place].member("command") if hooks is not None and hooks.items is not None else None
    return str(node.value) if node is not None else None


def with_hook(path: str, data: bytes | None, agent: Agent, command: str) -> bytes:
    """The file with our entry as the last one of its event."""
    entry = agent.entry(command)
    if data is None or not data.strip(MARK).strip():
        import json

        return json.dumps({"hooks": {agent.event: [entry]}}, indent=2, ensure_ascii=False).encode() + b"\n"
    text = text_of(path, data)
    root = root_of(path, text)
    hooks = container(root, "hooks", "{", path)
    groups = container(hooks, agent.event, "[", path) if hooks is not None else None
    if hooks is None:
        text = jsonc.with_element(text, root, "hooks", {agent.event: [entry]})
    elif groups is None:
        text = jsonc.with_element(text, hooks, agent.event, [entry])
    else:
        text = jsonc.with_element(text, groups, None, entry)
    changed = bytes_of(text, data)
    # The edit is checked by reading it back: what cannot be read must not be written.
    if installed_command(path, changed, agent) != command:
        raise HookRefused(f"{path}: the hook cannot be put into it; use tokcap hook print {agent.name}")
    return changed


def without_hook(path: str, data: bytes | None, agent: Agent) -> bytes | None:
    """The file as it was before; None if there was none."""
    command = installed_command(path, data, agent)
    if data is None or command is None:
        return data
    kept = read(path + BACKUP_SUFFIX)
    if with_hook(path, kept, agent, command) == data:
        return kept
    text = text_of(path, data)
    # Several entries of ours can only have come by hand; all of them go.
    while True:
        root = root_of(path, text)
        found = ours(root, agent, path)
        if found is None:
            return bytes_of(text, data)
        text = without_entry(text, root, agent, *found)


def without_entry(
    text: str, root: jsonc.Node, agent: Agent, number: int, group: jsonc.Node, place: int
) -> str:
    """The text without one entry, and without what is empty once it is gone."""
    hooks, inner = root.member("hooks"), group.member("hooks")
    groups = hooks.member(agent.event) if hooks is not None else None
    assert hooks is not None
    assert groups is not None
    assert inner is not None
    if len(inner.items or ()) > 1:
        return jsonc.without_element(text, inner, place)
    if len(groups.items or ()) > 1:
        return jsonc.without_element(text, groups, number)
    keys = [key for key, _, _ in hooks.members or ()]
    if len(keys) > 1:
        return jsonc.without_element(text, hooks, keys.index(agent.event))
    return jsonc.without_element(text, root, [key for key, _, _ in root.members or ()].index("hooks"))


def ours(root: jsonc.Node, agent: Agent, path: str) -> tuple[int, jsonc.Node, int] | None:
    """Our entry: the number of its group, the group, and its place in there."""
    hooks = container(root, "hooks", "{", path)
    groups = container(hooks, agent.event, "[", path) if hooks is not None else None
    for number, group in enumerate(groups.items or () if groups is not None else ()):
        inner = container(group, "hooks", "[", path) if group.members is not None else None
        for place, hook in enumerate(inner.items or () if inner is not None else ()):
            node = hook.member("command") if hook.members is not None else None
            if node is not None and isinstance(node.value, str) and is_ours(node.value, agent):
                return number, group, place
    return None


def is_ours(command: str, agent: Agent) -> bool:
    program, _, rest = command.partition(" hook run ")
    return program.strip("'\"").endswith("tokcap") and rest.split()[:1] == [agent.name]


def container(node: jsonc.Node, key: str, opening: str, path: str) -> jsonc.Node | None:
    """The array or object under a key; refused if something else stands there."""
    try:
        found = node.member(key)
    except ValueError as error:
        raise HookRefused(f"{path}: {error}; it was not touched") from None
    if found is not None and (found.members if opening == "{" else found.items) is None:
        kind = "object" if opening == "{" else "list"
        raise HookRefused(f"{path}: {key} is no {kind}; it was not touched")
    return found


def root_of(path: str, text: str) -> jsonc.Node:
    try:
        root = jsonc.parse(text)
    except (ValueError, RecursionError) as error:
        raise HookRefused(f"{path}: is no JSON ({error}); it was not touched") from None
    if root.members is None:
        raise HookRefused(f"{path}: is no JSON object; it was not touched")
    return root


def text_of(path: str, data: bytes) -> str:
    try:
        return data.removeprefix(MARK).decode()
    except UnicodeDecodeError:
        raise HookRefused(f"{path}: is not UTF-8; it was not touched") from None


def bytes_of(text: str, like: bytes) -> bytes:
    return (MARK if like.startswith(MARK) else b"") + text.encode()


def read(path: str) -> bytes | None:
    """The file's bytes; None if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}") from None


def keep(path: str, data: bytes | None) -> None:
    """Keep the version without our hook; where there was no file, there is nothing to keep."""
    if data is None:
        forget(path, data)
    else:
        write(path + BACKUP_SUFFIX, data, like=path)


def forget(path: str, restored: bytes | None) -> None:
    """Drop the kept version once the file is that version again."""
    if read(path + BACKUP_SUFFIX) in (None, restored) or restored is None:
        try:
            os.unlink(path + BACKUP_SUFFIX)
        except FileNotFoundError:
            pass


def refuse_read_only(path: str) -> None:
    """A new file could take the place of one that its owner has made read-only; that is not done."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise HookRefused(f"{path}: is read-only; it was not touched")


def delete(path: str) -> None:
    try:
        os.unlink(os.path.realpath(path))
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; it was not touched") from None


def write(path: str, data: bytes, like: str = "") -> None:
    """Replace a file in one step, behind a symbolic link if it is one, with its mode and owner."""
    target = os.path.realpath(path)
    other = f"{target}.{os.urandom(4).hex()}.new"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            before = os.stat(like or target)
        except FileNotFoundError:
            before = None
        # Settings can hold secrets: a new file is the user's own until it has the mode of the old one.
        descriptor = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if before is not None:
                    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                    os.fchmod(file.fileno(), before.st_mode & 0o7777)
                os.fsync(file.fileno())
            os.replace(other, target)
        except BaseException:
            os.unlink(other)
            raise
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; it was not touched") from None
