"""`python -m docs.record` makes pictures of the three main uses, run on a real terminal."""

from __future__ import annotations

import re

from docs.svg import CHARACTER, LINE, SIZE, box, document, text, write
from docs.terminal import COLUMNS, record

SCENES = {
    "cap": (
        "cap a command, then read on",
        [
            "tokcap -n 120 ./build; echo status $?",
            "tokcap show dire@72 | head -3",
            "tokcap show @last --grep warning",
        ],
    ),
    "count": (
        "a price, and an envelope for programs",
        [
            "tokcap --token-count cat orders.json",
            "tokcap -n 130 -o json cat orders.json",
            "tokcap show @last --pointer /orders/17/customer; echo",
        ],
    ),
    "session": (
        "a budget that many commands share",
        [
            'eval "$(tokcap budget start work --total 1000)"',
            "tokcap -n 130 cat events.jsonl",
            "tokcap budget record --input 390 --output 40",
            "tokcap -n 130 cat events.jsonl",
            "tokcap budget record --input 110 --output 30 | head -1",
            "tokcap -n 130 cat events.jsonl",
            "tokcap budget record --input 10 --output 5 | head -1",
            "tokcap -n 130 cat events.jsonl",
            "tokcap budget record --output 60 > /dev/null",
            "tokcap -n 130 cat events.jsonl; echo status $?",
        ],
    ),
}

MARGIN = 18
BAR = 34
# A dark window with a border is readable on light and dark pages.
BACKGROUND, FRAME, FAINT = "#15191e", "#3d4650", "#94a1ad"
TEXT, TYPED, PROMPT = "#d5dbe1", "#ffffff", "#6cc58f"


def steady(line: str) -> str:
    """Replace the duration in a line, which differs between runs."""
    return re.sub(r'"duration_ms":\d+', '"duration_ms":21', line)


def wrapped(line: str) -> list[str]:
    """Break a line as the terminal does."""
    line = line.expandtabs(8)
    return [line[at : at + COLUMNS] for at in range(0, len(line), COLUMNS)] or [""]


def window(title: str, scene: list[tuple[str, list[str]]]) -> str:
    """Draw a terminal window with the commands and their output."""
    rows: list[tuple[bool, str]] = []
    for command, lines in scene:
        rows += [(False, "")] * bool(rows)
        rows += [(True, command), *((False, row) for line in lines for row in wrapped(steady(line)))]
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    height = BAR + len(rows) * LINE + MARGIN
    parts = [
        box(0.5, 0.5, width - 1, height - 1, BACKGROUND, f' rx="8" stroke="{FRAME}"'),
        *(f'<circle cx="{MARGIN + 6 + 18 * number}" cy="17" r="5" fill="{FRAME}"/>' for number in range(3)),
        text((width - len(title) * CHARACTER) / 2, 22, title, FAINT),
    ]
    for number, (typed, words) in enumerate(rows):
        y = BAR + number * LINE + SIZE
        if typed:
            parts += [
                text(MARGIN, y, "$", PROMPT),
                text(MARGIN + 2 * CHARACTER, y, words, TYPED, weight="600"),
            ]
        elif words:
            parts.append(text(MARGIN, y, words, TEXT))
    return document(width, height, title, parts)


def pictures() -> dict[str, str]:
    """Run all scenes and return their pictures by file name."""
    return {f"{name}.svg": window(title, record(commands)) for name, (title, commands) in SCENES.items()}


if __name__ == "__main__":
    write(pictures())
