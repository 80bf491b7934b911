"""The embedded vocabularies restore the published tables exactly."""

import hashlib
import subprocess
import sys

import pytest

from tests.support.tiers import some_everyday
from tests.support.vocabularies import PUBLISHED
from tokcap.tokens import embedded, vocabulary
from tokcap.tokens.compile import compile_table


@pytest.mark.parametrize("name", embedded.NAMES)
def test_a_vocabulary_restores_the_published_table_byte_for_byte(name):
    loaded = vocabulary.load(name)
    tokens, sha256 = PUBLISHED[name]
    assert len(loaded.ranks()) == tokens
    assert hashlib.sha256(loaded.published_table()).hexdigest() == sha256
    assert loaded.table_sha256 == sha256


@pytest.mark.parametrize("name", some_everyday(embedded.NAMES, 1))
def test_compiling_the_restored_table_gives_the_same_file(name):
    loaded = vocabulary.load(name)
    assert compile_table(name, loaded.published_table()).packed() == loaded.packed()


def test_the_compiler_is_a_command_and_reports_the_digest(tmp_path):
    table = tmp_path / "toy.tiktoken"
    table.write_bytes(b"YQ== 0\nYg== 1\nYWI= 2\n")
    target = tmp_path / "toy.vocab"
    done = subprocess.run(
        [sys.executable, "-m", "tokcap.tokens.compile", table, target],
        capture_output=True,
        text=True,
        check=True,
    )
    assert hashlib.sha256(table.read_bytes()).hexdigest() in done.stdout
    assert vocabulary.unpacked(target.read_bytes()).ranks() == {b"a": 0, b"b": 1, b"ab": 2}


def test_a_table_whose_ranks_have_a_hole_is_refused():
    with pytest.raises(ValueError, match="line 2 has rank 5"):
        compile_table("toy", b"YQ== 0\nYg== 5\n")


def test_a_file_of_another_format_is_refused():
    with pytest.raises(ValueError, match="not a vocabulary"):
        vocabulary.unpacked(b"something\nelse\nx\n0\n")
