"""`tokcap count DIRECTORY`: the files below it that git would not ignore, counted on all cores."""

from __future__ import annotations

import os
import time
from multiprocessing import get_context
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, cast

from pathspec import GitIgnoreSpec

from tokcap.cli.commands.count import Row, count_file
from tokcap.errors import TokcapError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment

    # Directories, each with the patterns of its `.gitignore`.
    Rules = tuple[tuple[str, GitIgnoreSpec], ...]

REPOSITORY = ".git"
# Files are handed to processes in batches of about this many bytes. One batch needs no second process.
BATCH_BYTES = 1 << 19
BAR_CHARACTERS = 30
FIRST_BAR_SECONDS, NEXT_BAR_SECONDS = 0.5, 0.1


def tree_of(root: str, tokenizer: Tokenizer, env: Environment) -> list[Row]:
    """Return a directory and everything below it that git would not ignore, the largest parts first."""
    root = os.path.normpath(root)
    rules = rules_above(root)
    if is_ignored(os.path.abspath(root), rules, is_directory=True):
        # It was asked for all the same.
        rules = ()
    counted: list[Row] = []
    found = sorted(files_below(root, rules, counted), key=lambda file: -file[1])
    bar = Bar(env, len(found))
    for results in counted_batches(batches_of(found), tokenizer, env):
        counted += results
        bar.draw(len(counted))
    bar.erase()
    return in_order(root, counted)


def in_order(root: str, counted: Sequence[Row]) -> list[Row]:
    """Return a row for each file, and for each directory with the sums of what is below it."""
    sums: dict[str, list[int]] = {root: [0, 0, 0]}
    # Each path with all directories above it, from the root on.
    places = {root: [root]}
    for row in counted:
        directories = [row.path]
        while directories[0] != root:
            directories.insert(0, os.path.dirname(directories[0]))
        places[row.path] = directories
        for depth, directory in enumerate(directories[:-1]):
            places[directory] = directories[: depth + 1]
            tokens, size_bytes, files = sums.setdefault(directory, [0, 0, 0])
            if row.tokens is not None:
                sums[directory] = [tokens + row.tokens, size_bytes + row.size_bytes, files + 1]
    rows = {row.path: row for row in counted}
    for directory, (tokens, size_bytes, files) in sums.items():
        # A directory that cannot be read has its row already.
        rows.setdefault(directory, Row(directory, tokens, size_bytes, files=files))
    ordered = sorted(places, key=lambda path: [(-(rows[part].tokens or 0), part) for part in places[path]])
    return [rows[path].replace(depth=len(places[path]) - 1) for path in ordered]


def counted_batches(
    batches: Sequence[Sequence[str]], tokenizer: Tokenizer, env: Environment
) -> Iterator[list[Row]]:
    """Count batches of files, in several processes if there are several batches."""
    workers = min(len(batches), os.cpu_count() or 1)
    if workers < 2:
        yield from (count_batch(batch, tokenizer, env) for batch in batches)
        return
    # Not threads: files are read and split by Python. A forked process has the tokenizer already.
    context = get_context("fork")
    readers = []
    for place in range(workers):
        reader, writer = context.Pipe(duplex=False)
        work = (batches[place::workers], tokenizer, env, writer)
        context.Process(target=count_in_process, args=work, daemon=True).start()
        writer.close()
        readers.append(reader)
    left = len(batches)
    while left:
        for ready in cast("list[Connection]", wait(readers)):
            try:
                yield ready.recv()
            except EOFError:
                readers.remove(ready)
                if not readers:
                    raise TokcapError("a process that counts was ended") from None
                continue
            left -= 1


def count_in_process(
    batches: Sequence[Sequence[str]], tokenizer: Tokenizer, env: Environment, results: Connection
) -> None:
    for batch in batches:
        results.send(count_batch(batch, tokenizer, env))


def count_batch(batch: Sequence[str], tokenizer: Tokenizer, env: Environment) -> list[Row]:
    return [count_file(path, tokenizer, env, skips_binary=True) for path in batch]


def batches_of(found: Iterable[tuple[str, int]]) -> list[list[str]]:
    """Divide files, each with its size, into batches."""
    batches: list[list[str]] = []
    left = 0
    for path, size in found:
        if left <= 0:
            batches.append([])
            left = BATCH_BYTES
        batches[-1].append(path)
        # Opening a file takes as long as counting some of it.
        left -= size + 1024
    return batches


def files_below(root: str, rules: Rules, problems: list[Row]) -> Iterator[tuple[str, int]]:
    """Yield the path and the size of each file that is not ignored. Links are not followed.

    Directories that cannot be read are added to `problems`.
    """
    waiting = [(root, rules)]
    while waiting:
        directory, above = waiting.pop()
        rules = (*above, *rules_of(directory))
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    is_directory = entry.is_dir(follow_symlinks=False)
                    if entry.name == REPOSITORY or is_ignored(
                        os.path.abspath(entry.path), rules, is_directory
                    ):
                        continue
                    if is_directory:
                        waiting.append((entry.path, rules))
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.path, entry.stat(follow_symlinks=False).st_size
        except OSError as error:
            problems.append(Row(directory, problem=error.strerror or str(error)))


def is_ignored(path: str, rules: Rules, is_directory: bool) -> bool:
    """Return whether git would ignore a path: the last pattern of the nearest file that has one decides."""
    for directory, spec in reversed(rules):
        include = spec.check_file(os.path.relpath(path, directory) + "/" * is_directory).include
        if include is not None:
            return include
    return False


def rules_above(root: str) -> Rules:
    """Return the rules of the repository that a directory is in, as far as they are not in or below it."""
    found: list[tuple[str, GitIgnoreSpec]] = []
    directory = os.path.abspath(root)
    while not os.path.exists(os.path.join(directory, REPOSITORY)):
        above = os.path.dirname(directory)
        if above == directory:
            # No repository.
            return ()
        found = [*rules_of(above), *found]
        directory = above
    return (*rules_of(directory, os.path.join(REPOSITORY, "info", "exclude")), *found)


def rules_of(directory: str, name: str = ".gitignore") -> Rules:
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="surrogateescape") as file:
            return ((os.path.abspath(directory), GitIgnoreSpec.from_lines(file)),)
    except OSError:
        return ()


class Bar:
    """How many files are counted, on a terminal, once it takes a while."""

    def __init__(self, env: Environment, files: int) -> None:
        self._env = env
        self._files = files
        self._is_shown = env.is_terminal(env.stderr)
        self._next = time.monotonic() + FIRST_BAR_SECONDS
        self._drawn = False

    def draw(self, done: int) -> None:
        if self._is_shown and time.monotonic() >= self._next:
            filled = BAR_CHARACTERS * done // self._files
            bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
            self._env.write_stderr(f"\r[{bar}] {done} of {self._files} files".encode())
            self._next, self._drawn = time.monotonic() + NEXT_BAR_SECONDS, True

    def erase(self) -> None:
        if self._drawn:
            self._env.write_stderr(b"\r\x1b[K")
