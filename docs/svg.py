"""Draw text and boxes as SVG. The same input gives the same bytes, and columns align in every font."""

from __future__ import annotations

from html import escape
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SIZE = 14
CHARACTER = 8.4
LINE = 20


def document(width: float, height: float, title: str, parts: list[str], style: str = "") -> str:
    """Return a complete picture."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="{FONT}" font-size="{SIZE}" xml:space="preserve" role="img">'
    )
    styles = [f"<style>{style}</style>"] if style else []
    return "\n".join([head, f"<title>{escape(title)}</title>", *styles, *parts, "</svg>"]) + "\n"


def text(x: float, y: float, words: str, kind: str, weight: str = "") -> str:
    """Draw a line of text. Its length is set, so that the columns align in every font."""
    length = f'textLength="{len(words) * CHARACTER:.1f}" lengthAdjust="spacingAndGlyphs"'
    bold = f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" {paint(kind)}{bold} {length}>{escape(words, quote=False)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, more: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {paint(kind)}{more}/>'


def curve(points: list[tuple[float, float]], kind: str, more: str = "") -> str:
    """Draw a line through points, with a dot at each. The class gives the colour of both."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
    return f'<g class="{kind}"><polyline points="{path}" fill="none" stroke-width="2"{more}/>{dots}</g>'


def paint(kind: str) -> str:
    """Return the attribute for a colour, or for a class of the picture's style."""
    return f'fill="{kind}"' if kind.startswith("#") else f'class="{kind}"'


def write(pictures: dict[str, str]) -> None:
    """Write pictures to the directory that the guides link to."""
    PICTURES.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (PICTURES / name).write_text(picture)
