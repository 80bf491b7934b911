"""A small terminal screen of a fixed width: what a person sees after some bytes were written to it."""

from __future__ import annotations

import re

TOKEN = re.compile(r"\x1b\[(?P<parameters>[0-9;?<>=]*)(?P<final>[@-~])|\x1b[0-~]|(?P<text>.)", re.DOTALL)


class WrappingScreen:
    """Rows of characters. A line that is too long wraps, and wraps again when the screen becomes narrower."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows = [""]
        # Whether each row continues the one before.
        self.continues = [False]
        self.row = self.column = 0

    def write(self, text: str) -> None:
        for token in TOKEN.finditer(text):
            if token["final"]:
                self._sequence(token["parameters"], token["final"])
            elif token["text"] == "\r":
                self.column = 0
            elif token["text"] == "\n":
                self._down(continues=False)
            elif token["text"] and token["text"] >= " ":
                self._put(token["text"])

    def _put(self, character: str) -> None:
        if self.column >= self.columns:
            self.column = 0
            self._down(continues=True)
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + character + row[self.column + 1 :]
        self.column += 1

    def _down(self, *, continues: bool) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")
            self.continues.append(continues)

    def _sequence(self, parameters: str, final: str) -> None:
        number = int(parameters) if parameters.isdigit() else 0
        if final == "A":
            self.row = max(self.row - max(number, 1), 0)
        elif final in "KJ":
            self.rows[self.row] = self.rows[self.row][: self.column]
            if final == "J":
                del self.rows[self.row + 1 :], self.continues[self.row + 1 :]

    @property
    def lines(self) -> list[str]:
        """The rows that are not empty."""
        return [row.rstrip() for row in self.rows if row.strip()]
