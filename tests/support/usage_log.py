"""The lines of a usage log, and ways to make its directory useless."""

import json
import os
import time

from tokcap import usage

TODAY = time.strftime("%Y-%m-%d")


def lines_in(directory) -> list[dict]:
    found = []
    for path in sorted(directory.glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text().split("\n") if line]
    return found


def read_only(directory):
    directory.mkdir(parents=True)
    directory.chmod(0o500)


def a_file(directory):
    directory.parent.mkdir(parents=True)
    directory.write_text("")


def a_link(directory):
    elsewhere = directory.parent.parent / "elsewhere"
    elsewhere.mkdir(parents=True)
    directory.parent.mkdir()
    directory.symlink_to(elsewhere)


def a_linked_day(directory):
    directory.mkdir(parents=True)
    (directory / f"{TODAY}.jsonl").symlink_to(directory.parent / "elsewhere.txt")


def a_pipe(directory):
    directory.mkdir(parents=True)
    os.mkfifo(directory / f"{TODAY}.jsonl")


def a_full_day(directory):
    directory.mkdir(parents=True)
    with open(directory / f"{TODAY}.jsonl", "wb") as file:
        file.truncate(usage.LARGEST_DAY_BYTES)
