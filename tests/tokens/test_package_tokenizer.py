"""What cannot be compiled exactly can be added with --slow: the package `tokenizers` counts."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support.toy_models import toy

tokenizers = pytest.importorskip(
    "tokenizers", reason="the package tokenizers is not installed: pip install '.[nightly]'"
)


@pytest.fixture
def file(tmp_path, with_store):
    """A tokenizer.json that cannot be compiled, because it normalizes to NFKC."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**toy(), "normalizer": {"type": "NFKC"}}))
    return path


TEXT = "the others ﬁ ½ Å ﷺ 漢字 e\u0301\n" * 12


def test_it_counts_and_cuts_with_the_tokens_of_the_package(inside, file):
    refused = inside("tokenizer", "add", "own", str(file))
    assert (refused.status, b"only NFC can be compiled" in refused.err, b"--slow" in refused.err) == (
        1,
        True,
        True,
    )
    assert inside("tokenizer", "add", "own", str(file), "--slow").status == 0
    expected = len(tokenizers.Tokenizer.from_file(str(file)).encode(TEXT, add_special_tokens=False).ids)
    assert inside("--tokenizer", "own", "--token-count", stdin=TEXT.encode()).out == b"%d\n" % expected
    shown, offset = [], 0
    while offset is not None:
        options = ("--tokenizer", "own", "-n", "120", "--token-offset", str(offset), "-o", "json")
        page = inside(*options, stdin=TEXT.encode()).json
        shown.append(page["data"][0])
        offset = page["meta"].get("next_offset")
    assert ("".join(shown), len(shown) > 2) == (TEXT, True)


def test_it_is_listed_checked_and_removed(inside, file):
    inside("tokenizer", "add", "own", str(file), "--slow")
    assert inside("tokenizer", "show", "own", "-o", "json").json["data"]["intact"] is True
    assert b"not compiled" in inside("tokenizer", "check", "own", stdin=b"a").err
    assert inside("tokenizer", "remove", "own").status == 0


def test_without_the_package_or_with_a_damaged_file_it_is_refused(inside, file, monkeypatch):
    file.write_text('{"model": 7}')
    ran = inside("tokenizer", "add", "own", str(file), "--slow")
    assert (ran.status, b"cannot read it" in ran.err, ran.err.count(b"\n")) == (1, True, 1)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    ran = inside("tokenizer", "add", "own", str(file), "--slow")
    assert (ran.status != 0, b"package tokenizers" in ran.err) == (True, True)
