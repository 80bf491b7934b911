"""Make texts from measurements: the table, the checks, a row per output, and the results as JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.useful.policies import REFERENCE
from benchmarks.useful.recall import interval_of, recall_of, worse_than_reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.useful.outputs import Output
    from benchmarks.useful.policies import Policy
    from benchmarks.useful.recall import Measured


def recalls(measured: Sequence[Measured], name: str, limits: Sequence[int]) -> list[float]:
    return [recall_of(m for m in measured if m.policy == name and m.limit == limit) for limit in limits]


def as_text(measured: Sequence[Measured], policies: Sequence[Policy], limits: Sequence[int]) -> str:
    """Return recall in percent, a row per policy."""
    rows = [("policy", *(f"{limit:,}" for limit in limits))]
    first = policies[0].name
    sizes = (str(sum(m.policy == first and m.limit == limit for m in measured)) for limit in limits)
    rows.append(("outputs larger than the limit", *sizes))
    for policy in policies:
        values = recalls(measured, policy.name, limits)
        rows.append((policy.label.replace("`", ""), *(f"{value:.0f}" for value in values)))
    width = max(len(row[0]) for row in rows)
    return "\n".join(row[0].ljust(width) + "".join(f"{cell:>8}" for cell in row[1:]) for row in rows)


def intervals(measured: Sequence[Measured], policies: Sequence[Policy], limits: Sequence[int]) -> str:
    """Return between which values recall lies if outputs are drawn again, a row per policy."""
    found = ["95 % of draws of as many outputs lie between"]
    for policy in policies:
        each = [
            interval_of(m for m in measured if m.policy == policy.name and m.limit == limit)
            for limit in limits
        ]
        found.append(f"{policy.name:<12}" + "".join(f"{low:>6.0f}-{high:.0f}" for low, high in each))
    return "\n".join(found)


def by_kind(measured: Sequence[Measured], policies: Sequence[Policy], limits: Sequence[int]) -> str:
    """Return recall of each kind of output, a row per policy."""
    rows = []
    for kind in sorted({m.kind for m in measured}):
        of_kind = [m for m in measured if m.kind == kind]
        rows.append(f"{kind} ({len({m.output for m in of_kind})})")
        for policy in policies:
            values = recalls(of_kind, policy.name, limits)
            rows.append(f"  {policy.name:<12}" + "".join(f"{value:>6.0f}" for value in values))
    return "\n".join(rows)


def checks(measured: Sequence[Measured]) -> str:
    """Return one line per check: limits, exit status, structure, and the comparison with the reference."""
    structured = [m for m in measured if m.is_structured]
    worse = Counter(m.policy for m, _ in worse_than_reference(measured))
    in_words = ", ".join(f"{name} {number}" for name, number in worse.items())
    wrong = [m for m in measured if not (m.keeps_limit and m.keeps_status and m.parses)]
    return "\n".join(
        [
            f"within the limit by recount: {sum(m.keeps_limit for m in measured)} of {len(measured)}",
            f"with the exit status: {sum(m.keeps_status for m in measured)} of {len(measured)}",
            f"structured outputs that parse: {sum(m.parses for m in structured)} of {len(structured)}",
            f"worse than {REFERENCE} by more than one needle: {in_words or 'none'}",
            *(f"wrong: {m.policy} {m.limit} {m.output}: {m.tokens} tokens, {faults(m)}" for m in wrong),
        ]
    )


def faults(measured: Measured) -> str:
    found = {
        "over the limit": not measured.keeps_limit,
        "another exit status": not measured.keeps_status,
        "does not parse": not measured.parses,
    }
    return ", ".join(name for name, is_so in found.items() if is_so)


def by_output(measured: Sequence[Measured]) -> str:
    """Return a row per answer: how much was found, what is missing, and whether the reference shows more."""
    worse = {id(m): reference for m, reference in worse_than_reference(measured)}
    rows = []
    for m in measured:
        missing = " | ".join(" … ".join(needle) for needle in m.missing)
        compared = f" ({REFERENCE}: {worse[id(m)].found})" if id(m) in worse else ""
        rows.append(
            f"{m.policy:<12} {m.limit:>5}  {m.output:<24} {m.found}/{m.needles}{compared}  {missing}".rstrip()
        )
    return "\n".join(rows)


def as_json(
    measured: Sequence[Measured],
    policies: Sequence[Policy],
    limits: Sequence[int],
    outputs: Sequence[Output],
) -> str:
    """Return the results as a JSON document with a line per policy and limit."""
    found = {
        policy.name: {
            "label": policy.label,
            "recall": dict(zip(map(str, limits), rounded(measured, policy.name, limits), strict=True)),
            "found": {
                str(limit): {
                    m.output: m.found for m in measured if (m.policy, m.limit) == (policy.name, limit)
                }
                for limit in limits
            },
        }
        for policy in policies
    }
    sizes = {output.id: {"tokens": output.tokens, "needles": len(output.needles)} for output in outputs}
    return document({"limits": list(limits), "outputs": sizes, "policies": found})


def rounded(measured: Sequence[Measured], name: str, limits: Sequence[int]) -> list[float]:
    return [round(value, 2) for value in recalls(measured, name, limits)]


def document(value: object, depth: int = 3) -> str:
    """Return JSON with a line for each member, down to the given depth."""
    if depth and isinstance(value, dict):
        members = (f"{json.dumps(key)}: {document(member, depth - 1)}" for key, member in value.items())
        return "{\n" + ",\n".join(members) + "\n}"
    return json.dumps(value, ensure_ascii=False)


def as_markdown(results: Mapping[str, object], limits: Sequence[int]) -> str:
    """Return the table of a results file, for a guide."""
    head = f"| policy | {' | '.join(f'{limit:,}' for limit in limits)} |"
    rows = [head, "|---|" + "---|" * len(limits)]
    for policy in results["policies"].values():
        cells = (f"{policy['recall'][str(limit)]:.0f}" for limit in limits)
        rows.append(f"| {policy['label']} | {' | '.join(cells)} |")
    return "\n".join(rows)
