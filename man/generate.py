"""Write the man pages next to this file: `python man/generate.py`. The texts are in `words/`."""

from __future__ import annotations

from pathlib import Path

from pages import pages

DIRECTORY = Path(__file__).parent


def main() -> None:
    for name, text in pages(DIRECTORY / "words").items():
        (DIRECTORY / name).write_text(text)


if __name__ == "__main__":
    main()
