"""Draw recall against the limit, a line per policy, from the results of `python -m benchmarks.useful`."""

from __future__ import annotations

import json
from pathlib import Path

from docs.svg import CHARACTER, LINE, box, curve, document, text

RESULTS = Path(__file__).parents[1] / "benchmarks" / "useful" / "results.json"
PICTURE = "recall.svg"

# Where the plot is, and how large it is.
LEFT, TOP, WIDTH, HEIGHT = 64, 56, 440, 300
LEGEND = LEFT + WIDTH + 40
# Where the numbers of the legend end.
COLUMNS = (830, 885, 940)
# Colours on a light and on a dark page: for the policies of tokcap, then for the rules of others.
OWN = (
    *(("#1b6ca8", "#5a9bf0"), ("#2a7f62", "#4fc08d"), ("#8d5a97", "#c79bd2")),
    *(("#d1495b", "#ff7b72"), ("#b5850b", "#edbe4b"), ("#0e7c86", "#41c4cf")),
)
OTHERS = (
    *(("#4d565f", "#b9c2cb"), ("#6f7982", "#9aa5b0"), ("#8c959f", "#7f8a95")),
    *(("#a3abb3", "#66707a"), ("#b8bfc6", "#56606b"), ("#c9ced3", "#4a535c")),
)
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 4", "10 4")


def picture() -> str:
    results = json.loads(RESULTS.read_text())
    limits, policies = results["limits"], results["policies"]
    kinds, style = colours(list(policies.values()))
    parts = [
        box(0.5, 0.5, 959, 399, "paper", ' rx="8" stroke="#8c959f" stroke-opacity="0.5"'),
        text(20, 30, "needed lines that are shown, in percent, against the limit in tokens", "ink", "600"),
        *axes(limits),
    ]
    order = sorted(policies, key=lambda name: -policies[name]["recall"][str(limits[-1])])
    # The policies of tokcap are drawn last, on top.
    for name in sorted(order, key=lambda name: is_own(policies[name])):
        points = [(x(n, limits), y(policies[name]["recall"][str(n)])) for n in limits]
        kind, dash = kinds[policies[name]["label"]]
        parts.append(curve(points, kind, f' stroke-dasharray="{dash}"' if dash else ""))
    shown = [limits[0], limits[len(limits) // 2], limits[-1]]
    parts += in_columns(TOP + 5, [f"{limit:,}" for limit in shown], "faint")
    for number, name in enumerate(order, 1):
        parts += legend_row(TOP + 5 + number * LINE * 1.2, policies[name], kinds, shown)
    return document(960, 400, "recall against the limit", parts, style)


def is_own(policy: dict[str, object]) -> bool:
    return str(policy["label"]).startswith("tokcap ")


def colours(policies: list[dict[str, object]]) -> tuple[dict[str, tuple[str, str]], str]:
    """Return the class and the dashes of each policy by its label, and the style of the picture."""
    light = {"paper": "#ffffff", "ink": "#1f2328", "faint": "#656d76", "grid": "#eceff2"}
    dark = {"paper": "#15191e", "ink": "#e1e6eb", "faint": "#94a1ad", "grid": "#262c33"}
    lines: dict[str, tuple[str, str]] = {}
    kinds = {}
    for own, palette in ((True, OWN), (False, OTHERS)):
        members = [policy for policy in policies if is_own(policy) == own]
        for number, policy in enumerate(members):
            kind = f"{'own' if own else 'other'}{number}"
            lines[kind] = palette[number % len(palette)]
            kinds[str(policy["label"])] = (kind, "" if own else DASHES[number % len(DASHES)])
    rules = [
        "".join(f".{name}{{fill:{colour}}}" for name, colour in fills.items())
        + "".join(f".{name}{{fill:{pair[side]};stroke:{pair[side]}}}" for name, pair in lines.items())
        for side, fills in enumerate((light, dark))
    ]
    return kinds, f"{rules[0]}@media(prefers-color-scheme:dark){{{rules[1]}}}"


def x(limit: int, limits: list[int]) -> float:
    return LEFT + WIDTH * limits.index(limit) / max(len(limits) - 1, 1)


def y(percent: float) -> float:
    return TOP + HEIGHT * (1 - percent / 100)


def axes(limits: list[int]) -> list[str]:
    parts = []
    for percent in range(0, 101, 20):
        parts.append(box(LEFT, y(percent) - 0.5, WIDTH, 1, "grid"))
        parts.append(text(LEFT - 12 - 3 * CHARACTER, y(percent) + 5, f"{percent:>3}", "faint"))
    for limit in limits:
        words = f"{limit:,}"
        parts.append(text(x(limit, limits) - len(words) * CHARACTER / 2, TOP + HEIGHT + 26, words, "faint"))
    return parts


def in_columns(top: float, words: list[str], kind: str) -> list[str]:
    """Draw words that end at the columns of the legend."""
    ends = zip(words, COLUMNS, strict=True)
    return [text(end - len(word) * CHARACTER, top, word, kind) for word, end in ends]


def legend_row(
    top: float, policy: dict[str, object], kinds: dict[str, tuple[str, str]], shown: list[int]
) -> list[str]:
    """Draw a sample of the line, the short name, and recall at some limits."""
    kind, dash = kinds[str(policy["label"])]
    recall = policy["recall"]
    assert isinstance(recall, dict)
    more = f' stroke-dasharray="{dash}"' if dash else ""
    return [
        curve([(LEGEND, top - 5), (LEGEND + 28, top - 5)], kind, more),
        text(LEGEND + 40, top, short_name(str(policy["label"])), "ink"),
        *in_columns(top, [f"{recall[str(limit)]:.0f}" for limit in shown], "ink"),
    ]


def short_name(label: str) -> str:
    return label.replace("`", "").partition(" (")[0]
