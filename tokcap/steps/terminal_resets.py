"""Undo what an answer leaves switched on in the terminal that shows it, such as a colour or another screen.

The command would have switched it off in the part that is not shown. Nothing is added for other readers.
"""

from __future__ import annotations

from tokcap.filters.terminal_modes import resets_after
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.core.request import View
    from tokcap.environment import Environment
    from tokcap.steps.answer import Answer
    from tokcap.steps.proof import Proof

# How often to make a smaller answer: what it leaves open may cost more than what the larger one did.
ATTEMPTS = 4


def with_resets(
    answer: Answer,
    view: View,
    proof: Proof,
    env: Environment,
    smaller: Callable[[int], Answer],
) -> Answer:
    """Return the answer with resets, within the limit. `smaller` makes an answer for a lower limit."""
    out, err = resets_of(answer, env)
    if not out and not err:
        return answer
    limit = view.token_limit
    if limit is None:
        return written_with(answer, out, err, view)
    lower = limit
    for _ in range(ATTEMPTS):
        complete = written_with(answer, out, err, view)
        excess = cost_of(complete, proof) - limit
        if excess <= 0:
            return complete.but(proven_tokens=None)
        lower -= excess
        if lower < 1:
            break
        answer = smaller(lower)
        out, err = resets_of(answer, env)
    # The cap comes first: the most important resets that fit.
    while out or err:
        out, err = (out[:-1], err) if len(out) >= len(err) else (out, err[:-1])
        complete = written_with(answer, out, err, view)
        if cost_of(complete, proof) <= limit:
            return complete.but(proven_tokens=None)
    return answer


def resets_of(answer: Answer, env: Environment) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Return the resets that each stream needs: none if it is not a terminal."""
    out = resets_after(answer.response.payload or b"")
    err = resets_after(answer.stderr)
    return (
        out if out and env.is_terminal(env.stdout) else (),
        err if err and env.is_terminal(env.stderr) else (),
    )


def written_with(answer: Answer, out: Sequence[bytes], err: Sequence[bytes], view: View) -> Answer:
    """Put the resets of stdout before the mark, which is not to appear on a screen that is left with them."""
    payload = answer.response.payload or b""
    last_line = payload.rfind(b"\n", 0, max(len(payload) - 1, 0)) + 1
    sentinel = view.sentinel.encode("utf-8", "surrogateescape")
    place = last_line if sentinel and payload.startswith(sentinel, last_line) else len(payload)
    payload = payload[:place] + b"".join(out) + payload[place:]
    return answer.but(response=answer.response.but(body=payload), stderr=answer.stderr + b"".join(err))


def cost_of(answer: Answer, proof: Proof) -> int:
    return proof.cost(answer.response.payload or b"", answer.all_stderr)
