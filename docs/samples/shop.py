"""A tool for the recipes of docs/library.md."""

import json
from typing import Any


def orders(customer: str) -> dict[str, Any]:
    """Return the orders of a shop: 5,201 tokens of JSON."""
    with open("orders.json", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return {**found, "customer": customer}
