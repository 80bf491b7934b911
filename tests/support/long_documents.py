"""Ordinary JSON documents: arrays of records, alone and inside of objects, written in several ways."""

import json


def records(number: int, **more) -> list:
    return [{"id": n, "name": f"n {n}", "sub": [{"id": "x],[{"}, {}], **more} for n in range(number)]


ORDINARY = [
    json.dumps(records(50)),
    json.dumps(records(50), indent=2),
    json.dumps(records(50), separators=(",", ":")),
    json.dumps({"count": 3, "rows": records(50), "next": None}),
    json.dumps({"page": {"rows": records(50)}, "list": [1, 2]}, indent=1),
    json.dumps([list(range(n % 7)) for n in range(90)]),
    json.dumps(list(range(300))),
    json.dumps([f'a, "b" {n},' for n in range(90)]),
    json.dumps([{"b": n} if n % 3 else [n] for n in range(90)]),
    json.dumps(records(40, name='quote " bracket ] brace } comma , back \\')),
    json.dumps(["漢字" * (n % 5) for n in range(90)], ensure_ascii=False),
]
