"""Write the completion scripts beside this file: `python completions/generate.py`."""

from __future__ import annotations

from pathlib import Path

from tokcap.cli.application import app
from tokcap.cli.completions import script_for
from tokcap.cli.described import all_commands, groups

DIRECTORY = Path(__file__).parent


def main() -> None:
    """Each under the name by which its shell looks for it."""
    commands = all_commands(app), groups(app)
    (DIRECTORY / "tokcap.bash").write_text(script_for("bash", *commands))
    (DIRECTORY / "_tokcap").write_text(script_for("zsh", *commands))
    (DIRECTORY / "tokcap.fish").write_text(script_for("fish", *commands))


if __name__ == "__main__":
    main()
