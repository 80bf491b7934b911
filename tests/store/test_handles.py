"""Handles, handles with an offset, and the price of the mark that names them."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.marks import COMMAND
from tests.support.program import IMPORT_PATH
from tests.support.reference import ENCODINGS, recount, reference
from tests.support.shells import install_programs
from tests.support.tiers import as_nightly
from tokcap.core.cut import Ask, Gap, Mark
from tokcap.core.mark import mark_line, note_of, shown_between
from tokcap.core.tokenizer import Total
from tokcap.environment import ShellReader
from tokcap.keep import KEEPS
from tokcap.store import handles
from tokcap.store.handles import (
    HANDLE_DIGITS,
    MORE_DIGITS,
    MOST_DIGITS,
    at_offset,
    is_handle,
    is_handle_of,
    shortest_handle,
    spelled,
)

pytestmark = pytest.mark.usefixtures("with_store")

SEQ = "".join(f"{number}\n" for number in range(1, 1001)).encode()
MOST_MARK_TOKENS = 24
COUNT = 2048


def digests(number: int) -> list[str]:
    chance = random.Random(number)
    return [f"{chance.getrandbits(160):040x}" for _ in range(number)]


def mark_of(digest: str, gap: Gap, first_token: int, total: int) -> str:
    command = ShellReader().call(at_offset(spelled(digest, HANDLE_DIGITS), "{}"))
    ask = Ask(500, first_token, KEEPS["head"], "record", "[TRUNCATED]", command)
    note = note_of(shown_between((gap,), first_token, Total(total)), Total(total), gap, ask)
    return mark_line(Mark(ask.sentinel, note)).removesuffix("\n")


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_mark_of_text_costs_at_most_24_tokens(name):
    encoding, chance, most = reference(name), random.Random(24), 0
    for digest in digests(1500):
        total = chance.randrange(10 ** chance.randrange(1, 7), 10**7)
        first, end = sorted(chance.randrange(min(total, 10**6)) for _ in range(2))
        # A page, and both ends: what is shown has up to six digits, as offsets have.
        for gap, offset in ((Gap(end), first), (Gap(first, total - (end - first)), 0)):
            mark = mark_of(digest, gap, offset, total)
            most = max(most, len(encoding.encode_ordinary(mark)))
    assert most == MOST_MARK_TOKENS


@pytest.mark.parametrize("tokenizer", ENCODINGS)
@pytest.mark.parametrize("keep", ["head", "tail", "ends", "focus"])
def test_the_mark_of_a_real_cut_is_as_cheap(inside, keep, tokenizer):
    ran = inside("-n", "500", "--keep", keep, "--tokenizer", tokenizer, stdin=SEQ * 9)
    line = next(line for line in ran.out.splitlines() if line.startswith(b"[TRUNCATED]"))
    # The option is needed to read on: offsets count in this vocabulary.
    option = b" --tokenizer o200k_base" if tokenizer == "o200k_base" else b""
    assert line.endswith(option)
    # With the legend of gaps.
    line = line.removesuffix(option).replace("…N lines: --gaps; ".encode(), b"")
    assert recount(line, tokenizer) <= MOST_MARK_TOKENS


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_word_is_one_token_with_the_blank_before_it(name):
    encoding = reference(name)
    words = Path(handles.WORDS).read_text().split()
    assert [*map(handles.word, range(COUNT))] == words
    assert len({*words}) == COUNT
    assert {len(word) for word in words} == {handles.LEAST_CHARACTERS}
    assert all(len(encoding.encode_ordinary(f" {word}")) == 1 for word in words)


def test_a_handle_has_at_least_40_bits_and_all_of_them_are_used():
    assert COUNT * 10**HANDLE_DIGITS >= 2**40
    found = {spelled(digest, HANDLE_DIGITS) for digest in digests(5000)}
    assert len(found) == 5000
    assert len({handle[:4] for handle in found}) > 1800
    assert {handle[-1] for handle in found} == {*"0123456789"}
    assert spelled("0" * 40, HANDLE_DIGITS) == f"{handles.word(0)}000000000"
    assert spelled("f" * 40, HANDLE_DIGITS) == f"{handles.word(2047)}999999999"


def test_another_output_with_the_same_handle_gets_more_digits():
    digest, *others = digests(10)
    taken = {spelled(digest, HANDLE_DIGITS): others[0]}
    longer = shortest_handle(digest, taken.get)
    assert longer == spelled(digest, HANDLE_DIGITS + MORE_DIGITS)
    assert longer.startswith(spelled(digest, HANDLE_DIGITS))
    assert is_handle(longer)
    assert is_handle_of(longer, digest)
    assert not is_handle_of(longer, others[0])
    for digits in range(HANDLE_DIGITS, MOST_DIGITS):
        taken[spelled(digest, digits)] = others[1]
    assert shortest_handle(digest, taken.get) == spelled(digest, MOST_DIGITS)
    # That has every bit of the digest.
    assert spelled(f"{int(digest, 16) ^ 1:040x}", MOST_DIGITS) != spelled(digest, MOST_DIGITS)


@pytest.mark.parametrize(
    ("shell", "keep"),
    [
        *(("sh", "head"), ("bash", "head"), ("zsh", "tail"), ("fish", "tail")),
        *(as_nightly((shell, "tail")) for shell in ("sh", "bash")),
        *(as_nightly((shell, "head")) for shell in ("zsh", "fish")),
    ],
)
def test_the_command_in_a_mark_gives_exactly_the_rest_in_a_real_shell(inside, tmp_path, shell, keep):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    path = f"{install_programs(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}"
    world = {**os.environ, "PATH": path, "PYTHONPATH": IMPORT_PATH}
    page, shown = inside("-n", "1100", "--keep", keep, stdin=SEQ).out, b""
    end = b""
    if keep == "tail":
        mark, end = page.split(b"\n", 1)
        page = mark + b"\n"
    while (command := COMMAND.search(page)) and not (keep == "tail" and shown + page == SEQ):
        shown += page[: page.index(b"[TRUNCATED]")]
        done = subprocess.run([shell, "-c", command[1].decode()], env=world, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        page = done.stdout
    assert shown + page == SEQ
    assert SEQ.endswith(end)


class TestAnOffsetAfterTheHandle:
    @pytest.fixture
    def handle(self, inside):
        return inside("-n", "210", "-o", "json", stdin=SEQ).json["meta"]["handle"]

    def test_is_the_same_as_the_option(self, inside, handle):
        expected = inside("show", handle, "--token-offset", "464").out
        assert expected.startswith(b"233\n")
        for name in (handle, handle[:4], handle[:7], "@last", "@last-0"):
            assert inside("show", f"{name}@464").out == expected
            assert inside("show", f"{name}@464", "--token-offset", "464").out == expected
        assert inside("show", f"{handle}@0").out == inside("show", handle).out

    @pytest.mark.parametrize("other", ["0", "463", "1k"])
    def test_refuses_another_offset(self, inside, handle, other):
        ran = inside("show", f"{handle}@464", "--token-offset", other)
        assert ran.status == 2
        assert b"begins at token 464" in ran.err

    @pytest.mark.parametrize("offset", ["", "x", "-1", "1.5", "9" * 30])
    def test_has_to_be_a_number(self, inside, handle, offset):
        ran = inside("show", f"{handle}@{offset}")
        assert ran.status == 2
        assert b"the offset" in ran.err
