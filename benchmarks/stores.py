"""What a store that many hosts share costs: `python -m benchmarks.stores [ROUNDS [MEGABYTES]]`.

It starts an S3 server on loopback and calls tokcap with each store in turn, next to `python -c pass`: a run
that stores its output, a page on the same host, and a page on another one. Then it counts requests and bytes
of pages of a large output on another host.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from tests.support.buckets import Link, s3_server, variables

TOKCAP = [sys.executable, "-m", "tokcap"]
LINES = b"".join(b"line %d\n" % number for number in range(3000))
FLOOR = "python -c pass"
MEGABYTES = 64


def called(command: list[str], env: dict[str, str], stdin: bytes = b"") -> tuple[float, bytes]:
    """Return the CPU time of a command in milliseconds, and what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=env, input=stdin, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout


def host(place: str, name: str, url: str, port: int) -> dict[str, str]:
    return {**os.environ, **variables(port), "TOKCAP_DATA_DIR": f"{place}/{name}", "TOKCAP_STORE": url}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else MEGABYTES
    server = s3_server()
    link = Link(server.port)
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        os.mkdir(f"{place}/shared", mode=0o700)
        stores = {
            "local": "",
            "directory": f"file://{place}/shared",
            "s3": f"s3://{server.new_bucket()}?timeout=60",
        }

        def note(name: str, milliseconds: float) -> None:
            taken.setdefault(name, []).append(milliseconds)

        for number in range(rounds):
            note(FLOOR, called([sys.executable, "-c", "pass"], dict(os.environ))[0])
            note(
                "python -c 'import obstore'",
                called([sys.executable, "-c", "import obstore"], dict(os.environ))[0],
            )
            for name, url in stores.items():
                one, two = (host(place, f"{name}-{which}", url, link.port) for which in ("one", "two"))
                # Each is a new output, of the same size.
                spent, out = called([*TOKCAP, "-n", "100", "-o", "json"], one, LINES + b"%09d\n" % number)
                note(f"run, {name}", spent)
                page = [*TOKCAP, "show", f"{json.loads(out)['meta']['handle']}@5000", "-n", "100"]
                note(f"page on the same host, {name}", called(page, one)[0])
                if url:
                    note(f"page on another host, {name}", called(page, two)[0])
        floor = statistics.median(taken[FLOOR])
        for name, times in taken.items():
            found = statistics.median(times)
            print(f"{name:40} {found:7.1f} ms CPU  {found / floor:5.2f} × {FLOOR}")
        one, two = (host(place, which, stores["s3"], link.port) for which in ("one", "two"))
        large = b"".join(b"%d the quick brown fox\n" % number for number in range(40_000))
        large *= megabytes * 1_000_000 // len(large) + 1
        spent, out = called([*TOKCAP, "--token-count", "--max-bytes", "16GiB", "-o", "json"], one, large)
        meta = json.loads(out)["meta"]
        print(f"{len(large) / 1e6:.0f} MB counted and stored: {spent:.0f} ms CPU")
        for what, offset in (
            ("at the end", meta["token_count"] - 300),
            ("in the middle", meta["token_count"] // 2),
        ):
            link.forget()
            spent, _ = called([*TOKCAP, "show", f"{meta['handle']}@{offset}", "-n", "500"], two)
            size = f"{len(link.requests)} requests, {link.received_bytes} bytes"
            print(f"page {what} on another host: {spent:.0f} ms CPU, {size}; targets 3, {1 << 20}")
    link.close()


if __name__ == "__main__":
    main()
