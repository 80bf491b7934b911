"""Write the completion scripts next to this file: `python completions/generate.py`."""

from __future__ import annotations

from pathlib import Path

from tokcap.cli.completions import script_for

DIRECTORY = Path(__file__).parent


def main() -> None:
    """Write each script under the file name that its shell expects."""
    (DIRECTORY / "tokcap.bash").write_text(script_for("bash"))
    (DIRECTORY / "_tokcap").write_text(script_for("zsh"))
    (DIRECTORY / "tokcap.fish").write_text(script_for("fish"))


if __name__ == "__main__":
    main()
