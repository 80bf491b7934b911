"""A process that uses the ledger. Each line on stdin is one step as JSON; the answer is a line on stdout."""

from __future__ import annotations

import json
import sys

from tokcap.budget.arithmetic import Settings
from tokcap.budget.base import SessionView
from tokcap.budget.sqlite import SqliteLedger
from tokcap.errors import TokcapError

FLOOR_TOKENS = 20


def main() -> None:
    book = SqliteLedger(sys.argv[1])
    grants: dict[int, object] = {}
    for line in sys.stdin:
        verb, name, *given = json.loads(line)
        session = SessionView(book, name)
        answer: object = None
        try:
            if verb == "start":
                total, window = given
                answer = book.start(name, Settings(total, window, floor_tokens=FLOOR_TOKENS))
            elif verb == "reserve":
                requested, turn, number = given
                grants[number] = grant = session.reserve(requested, turn=turn)
                answer = grant.tokens
            elif verb == "announce":
                number, tokens = given
                session.announce(grants[number], tokens)
            elif verb == "settle":
                number, actual = given
                session.settle(grants.pop(number), actual)
            elif verb == "release":
                session.release(grants.pop(given[0]))
            elif verb == "record":
                answer = session.record(*given).counted
            elif verb == "compacted":
                session.compacted(*given)
            elif verb == "reset":
                book.reset(name)
            elif verb == "end":
                book.end(name)
            elif verb == "read":
                found = session.read()
                answer = [found.used, found.reserved, found.remaining, found.window_used]
            elif verb == "sessions":
                answer = [found.name for found in book.list()]
        except TokcapError as error:
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
