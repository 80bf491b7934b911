"""Write the completion scripts beside this file: `python completions/generate.py`."""

from __future__ import annotations

from pathlib import Path

from tokcap.completions import script_for

DIRECTORY = Path(__file__).parent


def main() -> None:
    """Each under the name by which its shell looks for it."""
    (DIRECTORY / "tokcap.bash").write_text(script_for("bash"))
    (DIRECTORY / "_tokcap").write_text(script_for("zsh"))
    (DIRECTORY / "tokcap.fish").write_text(script_for("fish"))


if __name__ == "__main__":
    main()
