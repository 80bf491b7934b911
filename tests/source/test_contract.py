"""The contract of every source: a command and what it leaves, standard input, bytes that the caller has."""

import contextlib
import os
import subprocess

import pytest

from tokcap.core.payload import RUNS_ON
from tokcap.environment import Environment
from tokcap.source.command import Command, LeftOver
from tokcap.source.given import GivenBytes, StandardInput

DATA = b"".join(b"%d\n" % number for number in range(100_000))


@pytest.fixture
def data_file(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def stdin(data_file):
    descriptor = os.open(data_file, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture(params=["command", "stdin", "given", "left over"])
def source(request, data_file, stdin):
    env = Environment(os.environ, stdin=stdin, collect=lambda _descriptor, _data: None)
    if request.param == "command":
        opened = Command(["cat", str(data_file)], "separate", env)
    elif request.param == "stdin":
        opened = StandardInput(env)
    elif request.param == "left over":
        opened = LeftOver({os.dup(stdin): "out"}, None)
    else:
        opened = GivenBytes(DATA)
    yield opened
    opened.close()


def test_the_blocks_join_to_all_of_the_bytes(source):
    blocks = [(stream, block) for stream, block in source.blocks() if block is not RUNS_ON]
    assert {stream for stream, _ in blocks} == {"out"}
    assert all(block for _, block in blocks)
    assert b"".join(block for _, block in blocks) == DATA


@pytest.mark.parametrize("size", [3 << 20, 12 << 20])
@pytest.mark.parametrize("way", ["command", "file", "pipe"])
def test_much_is_read_byte_for_byte(way, size, tmp_path):
    data = (DATA * (size // len(DATA) + 1))[:size]
    path = tmp_path / "much"
    path.write_bytes(data)
    with contextlib.ExitStack() as stack:
        if way == "pipe":
            stdin = stack.enter_context(subprocess.Popen(["cat", path], stdout=subprocess.PIPE)).stdout
        else:
            stdin = stack.enter_context(open(path, "rb"))
        env = Environment(os.environ, stdin=stdin.fileno(), collect=lambda _descriptor, _data: None)
        opened = StandardInput(env) if way != "command" else Command(["cat", str(path)], "separate", env)
        assert b"".join(block for _, block in opened.blocks()) == data
        opened.close()


def test_it_ends_without_a_failure(source):
    for _ in source.blocks():
        pass
    ending = source.end()
    assert ending is None or (ending.status, ending.signal, ending.stopped_for) == (0, None, "")


def test_nothing_more_is_read_from_a_stream_that_was_stopped(source):
    blocks = source.blocks()
    next(blocks)
    source.stop("out")
    assert [*blocks] == []


def test_stopping_a_stream_that_it_does_not_have_changes_nothing(source):
    blocks = source.blocks()
    _, first = next(blocks)
    source.stop("err")
    assert first + b"".join(block for _, block in blocks) == DATA


def test_it_ends_soon_when_the_limit_is_reached(source):
    blocks = source.blocks()
    _, first = next(blocks)
    source.limit_reached()
    rest = b"".join(block for _, block in blocks)
    assert DATA.startswith(first + rest)
    ending = source.end()
    assert ending is None or ending.stopped_for in ("limit", "")


def test_it_can_be_closed_before_it_was_read(source):
    source.close()


def test_a_file_of_some_size_is_read_at_once(stdin):
    source = StandardInput(Environment(os.environ, stdin=stdin, collect=lambda _descriptor, _data: None))
    assert [block for _, block in source.blocks()] == [DATA]
