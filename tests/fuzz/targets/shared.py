"""Objects of a shared store that somebody has damaged: they are told or refused, never shown as right."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tests.fuzz.target import Input, target
from tests.support.world import world
from tokcap.store.shared_entry import MAGIC, NewerVersion, packed, unpacked

if TYPE_CHECKING:
    from tests.support.world import World

FILES = {"record.json": b"{}", "checksums": bytes(range(256)) * 4, "index-x": b""}
LINES = b"".join(b"line %d\n" % number for number in range(2000))


@target([packed(FILES), packed({}), MAGIC + b"2\n", MAGIC])
def shared_entry(given: Input) -> None:
    try:
        found = unpacked(given.payload)
    except NewerVersion:
        return
    assert unpacked(packed(found)) == found


@cache
def stored() -> tuple[str, dict[str, bytes]]:
    """The handle of an output in a shared directory, and its files there."""
    with world() as here:
        shared = make_shared(here)
        handle = here.call(["-n", "60", "-o", "json", "--store", shared], LINES).json["meta"]["handle"]
        place = here.path / "shared"
        return handle, {
            str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()
        }


def make_shared(here: World) -> str:
    place = here.path / "shared"
    place.mkdir(mode=0o700)
    return f"file://{place}"


@target([*stored()[1].values(), b""], examples=12)
def damaged_shared_output(given: Input) -> None:
    handle, files = stored()
    name = given.pick(0, sorted(files))
    views = (("@1000",), ("", "--keep", "tail"), ("", "--grep", "line 1"), ("", "--mode", "summary"))
    view = given.pick(1, views)
    with world() as here:
        shared = make_shared(here)
        for key, data in {**files, name: given.payload}.items():
            path = here.path / "shared" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        args = ["show", handle + view[0], *view[1:], "-n", "80", "-o", "json", "--store", shared]
        ran = here.call(args)
        again = here.call(args)
    assert ran.status in (0, 1, 125)
    assert again.status == ran.status
    if not ran.status and view in views[:2]:
        # With `--keep tail` the mark comes first.
        (shown,) = (part for part in ran.json["data"] if part != "[TRUNCATED]")
        assert shown.encode() in LINES
