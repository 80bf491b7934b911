"""Errors and warnings as JSON objects, for the forms that have an envelope."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.notice import Notice
    from tokcap.core.response import Failure


def warnings_json(notices: Sequence[Notice]) -> list[dict[str, object]]:
    return [
        {name: value for name, value in notice.__dict__.items() if value is not None and name != "of_the_cut"}
        for notice in notices
    ]


def error_json(failure: Failure | None) -> dict[str, str] | None:
    if failure is None:
        return None
    return {name: value for name, value in failure.__dict__.items() if value}
