"""An entry in the hooks of a JSON settings file: `{"hooks": {EVENT: [{"matcher", "hooks"}]}}`."""

from __future__ import annotations

from tokcap.errors import HookRefused
from tokcap.hooks import jsonc, jsonc_edit
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any


class Entry(Record):
    """Our hook in the list of its event, with the containers around it."""

    root: jsonc.Node
    # The object under "hooks", and the list of groups under the event.
    hooks: jsonc.Node
    groups: jsonc.Node
    group_number: int
    # The list of hooks of that group, and the position of ours.
    group_hooks: jsonc.Node
    position: int
    command: str


class HookEntry(Record):
    """An addition to settings: an event for which the agent runs `tokcap hook run AGENT`."""

    agent: str
    # The key below "hooks", and which tools it is for.
    event: str
    matcher: str
    # In the agent's own unit.
    timeout: int
    # The command.
    value: str = ""

    def find(self, path: str, text: str) -> str | None:
        entry = self.entry_in(path, parse_root(path, text))
        return None if entry is None else entry.command

    def added(self, path: str, text: str) -> str:
        """Return the text with our entry as the last one of its event."""
        entry = self.entry()
        if not text.strip():
            import json

            return json.dumps({"hooks": {self.event: [entry]}}, indent=2, ensure_ascii=False) + "\n"
        root = parse_root(path, text)
        hooks = object_in(path, root, "hooks")
        groups = list_in(path, hooks, self.event) if hooks is not None else None
        if hooks is None:
            return jsonc_edit.with_element(text, root, "hooks", {self.event: [entry]})
        if groups is None:
            return jsonc_edit.with_element(text, hooks, self.event, [entry])
        return jsonc_edit.with_element(text, groups, None, entry)

    def cut(self, path: str, text: str) -> str:
        """Return the text without our entry, and without the containers that it leaves empty."""
        entry = self.entry_in(path, parse_root(path, text))
        assert entry
        if len(entry.group_hooks.items or ()) > 1:
            return jsonc_edit.without_element(text, entry.group_hooks, entry.position)
        if len(entry.groups.items or ()) > 1:
            return jsonc_edit.without_element(text, entry.groups, entry.group_number)
        events = entry.hooks.keys()
        if len(events) > 1:
            return jsonc_edit.without_element(text, entry.hooks, events.index(self.event))
        return jsonc_edit.without_element(text, entry.root, entry.root.keys().index("hooks"))

    def entry(self) -> dict[str, Any]:
        hook = {"type": "command", "command": self.value, "timeout": self.timeout}
        return {"matcher": self.matcher, "hooks": [hook]}

    def entry_in(self, path: str, root: jsonc.Node) -> Entry | None:
        """Return the first entry that calls `tokcap hook run` for this agent."""
        hooks = object_in(path, root, "hooks")
        groups = list_in(path, hooks, self.event) if hooks is not None else None
        if hooks is None or groups is None:
            return None
        for number, group in enumerate(groups.items or ()):
            inner = list_in(path, group, "hooks") if group.members is not None else None
            for position, hook in enumerate(inner.items or () if inner is not None else ()):
                command = member_of(path, hook, "command") if hook.members is not None else None
                if inner is None or command is None or not isinstance(command.value, str):
                    continue
                if self.is_ours(command.value):
                    return Entry(root, hooks, groups, number, inner, position, command.value)
        return None

    def is_ours(self, command: str) -> bool:
        program, _, rest = command.partition(" hook run ")
        return program.strip("'\"").endswith("tokcap") and rest.split()[:1] == [self.agent]


def object_in(path: str, node: jsonc.Node, key: str) -> jsonc.Node | None:
    """Return the object under a key, or None if the key is missing."""
    found = member_of(path, node, key)
    if found is not None and found.members is None:
        raise HookRefused(f"{path}: {key} is not an object; not changed")
    return found


def list_in(path: str, node: jsonc.Node, key: str) -> jsonc.Node | None:
    """Return the list under a key, or None if the key is missing."""
    found = member_of(path, node, key)
    if found is not None and found.items is None:
        raise HookRefused(f"{path}: {key} is not a list; not changed")
    return found


def member_of(path: str, node: jsonc.Node, key: str) -> jsonc.Node | None:
    try:
        return node.member(key)
    except ValueError as error:
        raise HookRefused(f"{path}: {error}; not changed") from None


def parse_root(path: str, text: str) -> jsonc.Node:
    """Parse a settings file, which must contain an object."""
    try:
        root = jsonc.parse(text)
    except (ValueError, RecursionError) as error:
        raise HookRefused(f"{path}: not valid JSON ({error}); not changed") from None
    if root.members is None:
        raise HookRefused(f"{path}: not a JSON object; not changed")
    return root
