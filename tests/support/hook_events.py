"""Events as agents send them to `tokcap hook run`."""

EVENT = {
    "session_id": "s",
    "cwd": "/",
    "permission_mode": "bypassPermissions",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls -l"},
}
