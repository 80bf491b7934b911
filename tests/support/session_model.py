"""A session as the design describes it (§8), in plain numbers. The ledger must agree with it."""

from __future__ import annotations

from dataclasses import dataclass, field


class Exhausted(Exception):
    """Nothing can be granted."""


@dataclass
class Held:
    """A reservation: who holds it, and in which session. The session may have ended since."""

    session: Session
    tokens: int | None
    turn: str | None
    worker: int
    announced: int = 0


@dataclass
class Session:
    total: int | None
    window: int | None
    used: int = 0
    window_used: int = 0
    turns: dict[str, int] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    held: list[Held] = field(default_factory=list)

    # One result may take a quarter of the window, a turn half of it, and always at least the floor.
    FLOOR = 20

    @property
    def settings(self) -> tuple[int | None, int | None]:
        return self.total, self.window

    @property
    def reserved(self) -> int:
        return sum(held.tokens or 0 for held in self.held)

    @property
    def remaining(self) -> int | None:
        return None if self.total is None else max(self.total - self.used - self.reserved, 0)

    def reserve(self, requested: int | None, turn: str | None, worker: int) -> Held:
        bounds = [bound for bound in (requested, self.remaining) if bound is not None]
        if self.remaining == 0:
            raise Exhausted
        if self.window is not None:
            left = max(self.window - self.window_used - self.reserved, 0)
            bounds.append(max(self.FLOOR, min(self.window // 4, left)))
            if turn is not None:
                in_turn = sum(held.tokens or 0 for held in self.held if held.turn == turn)
                bounds.append(self.window // 2 - self.turns.get(turn, 0) - in_turn)
                if bounds[-1] <= 0:
                    raise Exhausted
        held = Held(self, min(bounds, default=None), turn, worker)
        self.held.append(held)
        return held

    def settle(self, held: Held, actual: int) -> None:
        self.held.remove(held)
        self.used += actual
        self.window_used += actual
        if held.turn is not None:
            self.turns[held.turn] = self.turns.get(held.turn, 0) + actual

    def give_up(self, held: Held) -> None:
        """Count what was announced, and free the rest: the holder died, or released its grant."""
        self.settle(held, held.announced)

    def record(self, given: int, made: int, key: str | None) -> bool:
        if key is not None and key in self.keys:
            return False
        if key is not None:
            self.keys.add(key)
        self.used += given + made
        self.window_used = max(self.window_used, given + made)
        return True
