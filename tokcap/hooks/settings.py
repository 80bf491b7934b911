"""Install our hook in an agent's JSON settings file, and remove it.

A file that cannot be parsed is refused and not changed. The version without the hook is kept next to the
file; removing the hook restores it byte for byte if nothing else has changed.
"""

from __future__ import annotations

from tokcap.errors import HookRefused
from tokcap.hooks import jsonc_edit, settings_file
from tokcap.hooks.settings_entry import find_entry, list_in, object_in, parse_root, without_entry
from tokcap.hooks.settings_file import Edit
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.hooks.settings_agent import SettingsAgent

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def install(path: str, agent: SettingsAgent, command: str) -> bool:
    """Add the hook to the file; return False if the same hook is there already."""

    def edit(data: bytes | None) -> Edit | None:
        if data is not None and installed_command(path, data, agent) == command:
            return None
        original = without_hook(path, data, agent, settings_file.read_backup(path))
        return Edit(with_hook(path, original, agent, command), original)

    return settings_file.change(path, edit)


def remove(path: str, agent: SettingsAgent) -> bool:
    """Remove the hook from the file; return False if there is none."""

    def edit(data: bytes | None) -> Edit | None:
        if data is None or installed_command(path, data, agent) is None:
            return None
        original = without_hook(path, data, agent, settings_file.read_backup(path))
        return Edit(original, original)

    return settings_file.change(path, edit)


def installed_command(path: str, data: bytes | None, agent: SettingsAgent) -> str | None:
    """Return the command of our hook in a file's contents, or None."""
    if data is None or is_blank(data):
        return None
    entry = find_entry(path, parse_root(path, text_of(path, data)), agent)
    return None if entry is None else entry.command


def with_hook(path: str, data: bytes | None, agent: SettingsAgent, command: str) -> bytes:
    """Return a file's contents with our entry as the last one of its event."""
    entry = agent.entry(command)
    if data is None or is_blank(data):
        import json

        return json.dumps({"hooks": {agent.event: [entry]}}, indent=2, ensure_ascii=False).encode() + b"\n"
    text = text_of(path, data)
    root = parse_root(path, text)
    hooks = object_in(path, root, "hooks")
    groups = list_in(path, hooks, agent.event) if hooks is not None else None
    if hooks is None:
        text = jsonc_edit.with_element(text, root, "hooks", {agent.event: [entry]})
    elif groups is None:
        text = jsonc_edit.with_element(text, hooks, agent.event, [entry])
    else:
        text = jsonc_edit.with_element(text, groups, None, entry)
    changed = bytes_of(text, data)
    # Check the edit by reading it back, so that a broken file is never written.
    if installed_command(path, changed, agent) != command:
        raise HookRefused(f"{path}: the hook cannot be added; use tokcap hook print {agent.name}")
    return changed


def without_hook(
    path: str, data: bytes | None, agent: SettingsAgent, backup: bytes | None = None
) -> bytes | None:
    """Return a file's contents before the hook was installed; None if there was no file."""
    command = installed_command(path, data, agent)
    if data is None or command is None:
        return data
    if with_hook(path, backup, agent, command) == data:
        return backup
    text = text_of(path, data)
    # A second entry of ours can only have been added by hand. Remove all of them.
    while entry := find_entry(path, parse_root(path, text), agent):
        text = without_entry(text, entry, agent)
    return bytes_of(text, data)


def is_blank(data: bytes) -> bool:
    return not data.strip(BYTE_ORDER_MARK).strip()


def text_of(path: str, data: bytes) -> str:
    try:
        return data.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError:
        raise HookRefused(f"{path}: not UTF-8; not changed") from None


def bytes_of(text: str, like: bytes) -> bytes:
    """Encode the text, with a byte order mark if `like` has one."""
    return (BYTE_ORDER_MARK if like.startswith(BYTE_ORDER_MARK) else b"") + text.encode()
