"""What images and audio cost a model, from their headers. All figures are estimates, and called so."""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING

from tokcap.shapes.summary import size_words
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Base64 that is worth a line instead, also broken into lines and as an URL. What follows a long line is text.
BLOB = re.compile(
    r"(?:data:(?P<type>[\w.+-]+/[\w.+-]+)?[\w=;.+-]*;base64,)?"
    r"(?P<data>(?:(?:[A-Za-z0-9+/_-]{60,76}\r?\n){2,}[A-Za-z0-9+/_-]{1,76}(?![^\s=])|[A-Za-z0-9+/_-]{60,})={0,2})"
)
LEAST_BLOB_CHARACTERS = 256
# One token for this many bytes, if the header does not say more. A second of audio has 32 tokens, and seldom
# less than 2,000 bytes.
BYTES_PER_TOKEN = 64


class Media(Record):
    """Bytes that a result contains as base64."""

    data: bytes
    type: str
    # Width and height, if the header has them.
    size: tuple[int, int] | None
    # None: a client may show the base64 as text.
    tokens: int | None

    def words(self) -> str:
        """Describe it: `image/png 640x480, 34 KB, about 414 tokens`."""
        size = f" {self.size[0]}x{self.size[1]}" if self.size else ""
        tokens = "" if self.tokens is None else f", about {self.tokens} tokens"
        return f"{self.type}{size}, {size_words(len(self.data))}{tokens}"


def media_in(text: str, named_type: str, tokenizer: str) -> Media | None:
    """Return what a text in base64 contains; None if it is something else."""
    try:
        plain = re.sub(r"\s", "", text.translate({ord("-"): "+", ord("_"): "/"})).rstrip("=")
        data = binascii.a2b_base64(plain + "=" * (-len(plain) % 4), strict_mode=True)
    except ValueError:
        return None
    found = image_in(data)
    kind = found[0] if found else named_type or "application/octet-stream"
    tokens = None
    if found:
        tokens = image_tokens(*found[1], tokenizer)
    elif kind.startswith(("image/", "audio/", "video/")):
        tokens = -(-len(data) // BYTES_PER_TOKEN)
    return Media(data, kind, found[1] if found else None, tokens)


def blobs_in(text: str, tokenizer: str) -> Iterator[tuple[str, Media]]:
    """Yield the base64 in a text, and what it contains."""
    for match in BLOB.finditer(text):
        data = match["data"]
        # Many long words have one kind of characters only.
        is_likely = len(data) >= LEAST_BLOB_CHARACTERS and all(
            re.search(kind, data) for kind in ("[a-z]", "[A-Z]", "[0-9]")
        )
        if is_likely and (media := media_in(data, match["type"] or "", tokenizer)):
            yield match[0], media


def image_in(data: bytes) -> tuple[str, tuple[int, int]] | None:
    """Return the type of an image, and its width and height, from its header; None if it has none."""

    def number(first: int, last: int, *, mask: int = -1, big: bool = False) -> int:
        return int.from_bytes(data[first:last], "big" if big else "little") & mask

    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png", (number(16, 20, big=True), number(20, 24, big=True))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif", (number(6, 8), number(8, 10))
    if data[:4] + data[8:12] == b"RIFFWEBP":
        form = data[12:16]
        if form == b"VP8X":
            return "image/webp", (number(24, 27) + 1, number(27, 30) + 1)
        if form == b"VP8L":
            bits = number(21, 25)
            return "image/webp", ((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        return "image/webp", (number(26, 28, mask=0x3FFF), number(28, 30, mask=0x3FFF))
    place = 2 if data.startswith(b"\xff\xd8\xff") else len(data)
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker = data[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return "image/jpeg", (
                number(place + 7, place + 9, big=True),
                number(place + 5, place + 7, big=True),
            )
        # A fill byte, a marker alone, or a segment with its length.
        is_alone = marker == 0x01 or 0xD0 <= marker <= 0xD9
        place += 1 if marker == 0xFF else 2 if is_alone else 2 + number(place + 2, place + 4, big=True)
    return None


def cells(width: float, height: float, side: int) -> int:
    """Return how many squares of this side cover an image."""
    return int(-(-width // side) * -(-height // side))


def claude_tokens(width: int, height: int) -> int:
    """Anthropic: one token for each square of 28 pixels, after the image is scaled to 2576 pixels."""
    scale = min(1, 2576 / max(width, height))
    return min(cells(width * scale, height * scale, 28), 4784)


def gpt_tokens(width: int, height: int) -> int:
    """OpenAI: squares of 32 pixels, or of 512 after the short side is scaled to 768, whichever are dearer."""
    scale = min(1, 2048 / max(width, height))
    scale *= min(1, 768 / (min(width, height) * scale))
    return max(min(cells(width, height, 32), 2500), 85 + 170 * cells(width * scale, height * scale, 512))


def gemini_tokens(width: int, height: int) -> int:
    """Google: squares of 768 pixels."""
    return 258 * cells(width, height, 768)


FORMULAS: dict[str, Callable[[int, int], int]] = {
    "claude": claude_tokens,
    "o200k": gpt_tokens,
    "gpt": gpt_tokens,
    "gem": gemini_tokens,
}


def image_tokens(width: int, height: int, tokenizer: str) -> int:
    """Return the tokens of an image, by the formula of the tokenizer's maker, else by the dearest."""
    width, height = max(width, 1), max(height, 1)
    own = [formula for name, formula in FORMULAS.items() if tokenizer.startswith(name)]
    return max(formula(width, height) for formula in own or FORMULAS.values())
