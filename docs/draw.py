"""`python -m docs.draw` makes the drawings of the guides from real texts, tokens, windows and results."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from bisect import bisect_right
from pathlib import Path

from docs import recall
from docs.svg import CHARACTER, LINE, SIZE, box, document, text, write
from tokcap import cap
from tokcap.core.payload import TextPayload
from tokcap.tokens import open_tokenizer
from tokcap.tokens.index import PLACES, SAMPLE_BYTES, Index

SAMPLES = Path(__file__).parent / "samples"
MARGIN = 20

# CSS classes, so that the colours can follow the colour scheme of the page.
LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2328",
    "faint": "#656d76",
    "even": "#cfe5ff",
    "odd": "#fbe3b5",
    "out": "#eceff2",
    "kept": "#d3f0da",
    "cut": "#cf222e",
    "tokens": "#3b7dd8",
    "quarter": "#b3bcc6",
}
DARK = {
    "paper": "#15191e",
    "ink": "#e1e6eb",
    "faint": "#94a1ad",
    "even": "#1d436e",
    "odd": "#5d4715",
    "out": "#262c33",
    "kept": "#1c4a2a",
    "cut": "#ff7b72",
    "tokens": "#5a9bf0",
    "quarter": "#56606b",
}
STYLE = "".join(f".{name}{{fill:{colour}}}" for name, colour in LIGHT.items())
STYLE += "@media(prefers-color-scheme:dark){"
STYLE += "".join(f".{name}{{fill:{colour}}}" for name, colour in DARK.items()) + "}"


def window_of(path: Path, limit: int, *options: str) -> str:
    """Return what tokcap shows of a file, from a real run."""
    with tempfile.TemporaryDirectory() as directory:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("TOKCAP_")}
        done = subprocess.run(
            [sys.executable, "-m", "tokcap", "-n", str(limit), *options, "cat", str(path)],
            stdout=subprocess.PIPE,
            # Not the checkout, so that the imported tokcap is the one that this Python finds by itself.
            cwd=SAMPLES,
            env={**variables, "HOME": directory, "TOKCAP_DATA_DIR": f"{directory}/data"},
            text=True,
            check=True,
        )
        return done.stdout


def index_of(data: bytes) -> Index:
    return Index(TextPayload(data), open_tokenizer("cl100k_base"))


def framed(width: float, height: float, title: str, parts: list[str]) -> str:
    frame = box(0.5, 0.5, width - 1, height - 1, "paper", ' rx="8" stroke="#8c959f" stroke-opacity="0.5"')
    return document(width, height, title, [frame, *parts], STYLE)


def tokens_and_window(path: Path, limit: int) -> str:
    """Draw every token of a text as a box. The tokens of the first window are coloured."""
    data = path.read_bytes()
    index = index_of(data)
    total = index.total_tokens
    starts = index.starts(0, total)
    *_, mark = window_of(path, limit).splitlines()
    end = int(re.findall(r" (\d+)/\d+ tokens", mark)[0])
    lines = data.decode().splitlines()
    left = MARGIN + 5 * CHARACTER
    width = left + max(map(len, [*lines, mark])) * CHARACTER + MARGIN
    parts = [text(MARGIN, 30, f"tokcap -n {limit}: tokens 0-{end} of {total}", "ink", "600")]
    y, gap_at, token = 44.0, None, 0
    byte = 0
    for line in lines:
        if token == end and gap_at is None:
            gap_at = y
            y += LINE
        parts.append(text(MARGIN, y + SIZE, f"{token:>3}", "faint"))
        stop = byte + len(line) + 1
        while token < total and starts[token] < stop:
            first, last = starts[token] - byte, min(starts[token + 1], stop - 1) - byte
            kind = "out" if token >= end else ("even", "odd")[token % 2]
            # A newline is not visible. If it is a separate token, draw a narrow box.
            room = max(last - first, 0) * CHARACTER or 4
            parts.append(box(left + first * CHARACTER + 0.4, y, room - 0.8, LINE - 2, kind, ' rx="2"'))
            token += 1
        parts.append(text(left, y + SIZE, line, "ink" if token <= end else "faint"))
        byte = stop
        y += LINE
    assert gap_at is not None
    parts.append(text(left, gap_at + SIZE, mark, "cut", "600"))
    return framed(round(width), round(y + MARGIN / 2), "tokens and a window", parts)


def document_and_window(path: Path, limit: int, shown_lines: int) -> str:
    """Draw the start of a JSON document next to its first window."""
    data = path.read_bytes()
    meta = cap(data, limit).meta
    end = index_of(data).byte_at(meta.next_offset)
    lines = data.decode().splitlines()[:shown_lines]
    half = 46 * CHARACTER
    parts = [
        text(MARGIN, 30, "the document", "ink", "600"),
        text(MARGIN + half, 30, f"its window, limit {limit}", "ink", "600"),
    ]
    byte, y = 0, 44.0
    for line in lines:
        kept = byte + len(line.encode()) <= end
        bare = line.lstrip()
        x = MARGIN + (len(line) - len(bare)) * CHARACTER
        parts.append(box(x - 2, y, len(bare) * CHARACTER + 4, LINE - 2, "kept" if kept else "out", ' rx="2"'))
        parts.append(text(x, y + SIZE, bare, "ink" if kept else "faint"))
        byte += len(line.encode()) + 1
        y += LINE
    parts.append(text(MARGIN, y + SIZE, f"... {len(data.splitlines()) - shown_lines} more lines", "faint"))
    shown = pieces(window_of(path, limit).rstrip("\n"), 44)
    for number, piece in enumerate(shown):
        top = 44.0 + number * LINE
        parts.append(box(MARGIN + half - 2, top, len(piece) * CHARACTER + 4, LINE - 2, "kept", ' rx="2"'))
        parts.append(text(MARGIN + half, top + SIZE, piece, "ink"))
    below = 44.0 + (len(shown) + 1) * LINE
    for number, name in enumerate(("returned_tokens", "next_offset", "next_pointer", "total_count")):
        figure = f"{name}: {getattr(meta, name)}"
        parts.append(text(MARGIN + half, below + number * LINE + SIZE, figure, "faint"))
    return framed(round(MARGIN * 2 + half * 2), round(y + LINE + MARGIN), "a document and its window", parts)


def pieces(line: str, columns: int) -> list[str]:
    """Break a line of compact JSON after commas."""
    found = [""]
    for part in line.replace(",", ",\0").split("\0"):
        if len(found[-1]) + len(part) > columns:
            found.append("")
        found[-1] += part
    return found


def quarters(paths: list[Path]) -> str:
    """Draw two bars for each text: its tokens, and its bytes divided by four."""
    tokenizer = open_tokenizer("cl100k_base")
    rows = []
    for path in paths:
        data = path.read_bytes()
        rows.append((path.name, len(data) / 4, tokenizer.count(data.decode())))
    rows.sort(key=lambda row: row[2] / row[1])
    left, scale = MARGIN + 16 * CHARACTER, 0.8
    width = left + max(max(row[1:]) for row in rows) * scale + 16 * CHARACTER
    parts = [text(MARGIN, 30, "tokens (cl100k_base), and bytes / 4", "ink", "600")]
    y = 48.0
    for name, quarter, tokens in rows:
        parts += [
            text(MARGIN, y + SIZE + 4, name, "ink"),
            box(left, y, tokens * scale, 12, "tokens", ' rx="2"'),
            box(left, y + 14, quarter * scale, 10, "quarter", ' rx="2"'),
            text(
                left + max(tokens, quarter) * scale + 8,
                y + SIZE + 3,
                f"{tokens}, {tokens / quarter:.1f} times",
                "faint",
            ),
        ]
        y += 34
    return framed(round(width), round(y + 10), "tokens and bytes / 4", parts)


def checkpoints_and_places(data: bytes, token: int) -> str:
    """Draw a large output as a bar: its checkpoints, the chunk of one token and the sampled places."""
    index = index_of(data)
    total, known = index.total_tokens, index.checkpoints
    width = 760.0
    scale = (width - 2 * MARGIN) / len(data)
    chunk_number = bisect_right(known.tokens, token) - 1

    def x(byte: int) -> float:
        return MARGIN + byte * scale

    chunk = (
        x(known.bytes[chunk_number]),
        (known.bytes[chunk_number + 1] - known.bytes[chunk_number]) * scale,
    )
    heading = f"{len(data):,} bytes, {total:,} tokens, {len(known)} checkpoints"
    parts = [
        text(MARGIN, 30, heading, "ink", "600"),
        box(MARGIN, 48, width - 2 * MARGIN, 26, "out"),
        box(chunk[0], 48, chunk[1], 26, "tokens"),
        *(box(x(byte) - 0.5, 48, 1, 26, "faint") for byte in known.bytes),
        text(MARGIN, 94, f"to find token {token:,}, only the coloured chunk is encoded", "faint"),
        box(MARGIN, 114, width - 2 * MARGIN, 26, "out"),
        box(MARGIN, 114, max(SAMPLE_BYTES * scale, 2), 26, "cut"),
        *(box(x(len(data) * number // (PLACES + 1)), 114, 2, 26, "cut") for number in range(1, PLACES + 1)),
        text(MARGIN, 160, "an estimate uses samples from the start and from eight other places", "faint"),
    ]
    return framed(width, 178, "checkpoints, and the samples of an estimate", parts)


def pictures() -> dict[str, str]:
    """Return the drawings by file name."""
    return {
        "tokens.svg": tokens_and_window(SAMPLES / "kinds" / "program.py", 80),
        "json.svg": document_and_window(SAMPLES / "orders.json", 70, 24),
        "large.svg": checkpoints_and_places(
            b"".join(b"%d\n" % number for number in range(1, 200_001)), 598_980
        ),
        "quarter.svg": quarters(sorted((SAMPLES / "kinds").iterdir())),
        recall.PICTURE: recall.picture(),
    }


if __name__ == "__main__":
    write(pictures())
