"""Counts by a profile are estimates, are called estimates, and behave like all other counts."""

from __future__ import annotations

import random

import pytest

from tests.support.payloads import payload_of
from tests.support.tiers import times
from tokcap.tokens import count_bytes, open_index, open_tokenizer
from tokcap.tokens.kinds import SHAPE_OF_BYTES, kind_of
from tokcap.tokens.profile import Profile
from tokcap.tokens.profiles import SHIPPED

TEXT = "".join(f"line {number}: some plain words, 0x{number * 7919:08x}\n" for number in range(3000))


def test_everything_that_a_profile_counts_is_called_an_estimate(inside, with_store):
    ran = inside("--tokenizer", "claude", "-n", "200", "-o", "json", stdin=TEXT.encode())
    meta = ran.json["meta"]
    assert meta["tokenizer_exact"] is False
    assert "total_tokens" not in meta
    assert meta["total_tokens_estimate"] > 0
    small = inside("--tokenizer", "claude", "-n", "160", stdin=TEXT[:3000].encode()).out.decode()
    assert " of about " in small.splitlines()[-1]
    counted = inside("--tokenizer", "claude", "--token-count", stdin=TEXT.encode())
    assert counted.out == b"%d\n" % count_bytes(TEXT.encode(), open_tokenizer("claude"))
    assert b"this count is an estimate" in counted.err
    found = inside("count", "--tokenizer", "claude", "-o", "json", stdin=TEXT.encode()).json
    assert found["meta"]["tokenizer_exact"] is False
    assert [notice["code"] for notice in found["warnings"]] == ["TOKENS_ESTIMATED"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_profile_says_where_it_comes_from_and_how_far_it_is_off(inside, name):
    shown = inside("tokenizer", "show", name, "-o", "json").json["data"]
    assert shown["exact"] is False
    assert shown["base"] == "o200k_base"
    assert len(shown["source"]) > 50
    assert 0 < shown["mean_error_percent"] <= shown["most_error_percent"]
    assert name in inside("tokenizer", "list").out.decode()
    refused = inside("tokenizer", "remove", name)
    assert (refused.status, refused.err) == (
        1,
        f"tokcap: the profile {name} comes with tokcap and cannot be removed\n".encode(),
    )


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("The quick brown fox jumps over the lazy dog, and nobody sees it.\n" * 50, 1.5),
        ("北京的天气很好，我们去公园散步。\n" * 50, 1.0),
        ('{"name": "value", "items": [1, 2, 3], "ok": true}\n' * 50, 1.2),
    ],
    ids=["prose", "chinese", "json"],
)
def test_the_generations_of_claude_differ_by_kind_of_text(text, factor):
    base, old, new = (open_tokenizer(name).count(text) for name in ("o200k_base", "claude-4.6", "claude"))
    assert old >= base
    assert new / old == pytest.approx(factor, rel=0.25)


@pytest.mark.parametrize("keep", ["head", "tail", "ends", "focus"])
def test_a_window_of_a_profile_stays_within_its_limit(inside, keep):
    tokenizer = open_tokenizer("claude")
    for limit in (1, 5, 40, 300):
        ran = inside("--tokenizer", "claude", "--keep", keep, "-n", str(limit), stdin=TEXT.encode())
        assert tokenizer.count((ran.out + ran.err).decode()) <= limit


def test_the_token_at_a_line_is_the_count_of_the_text_before_it():
    tokenizer = open_tokenizer("claude")
    index = open_index(payload_of(TEXT.encode()), tokenizer)
    for line in (1, 2, 3, 500, 2999):
        before = TEXT.encode().split(b"\n", line)
        size = len(TEXT.encode()) - len(before[-1])
        assert index.token_at(size) == tokenizer.count(TEXT.encode()[:size].decode())


def test_stored_positions_are_those_of_the_profile_that_counted(inside, with_store):
    first = inside("--tokenizer", "claude", "-n", "100", "-o", "json", stdin=TEXT.encode()).json["meta"]
    more = inside("show", *first["continue"][1:], "-n", "100").json
    assert more["meta"]["token_offset"] == first["next_offset"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_profile_is_read_as_it_was_written(name):
    profile = open_tokenizer(name).profile
    assert Profile.unpacked(profile.packed()) == profile


@pytest.mark.parametrize("damage", [b"", b"tokcap profile 9\n", b"tokcap profile 1\nname x\n", b"\xff"])
def test_a_damaged_profile_is_refused_in_one_line(inside, tmp_path, damage):
    place = tmp_path / "data" / "profiles"
    place.mkdir(parents=True, mode=0o700)
    (place / "mine.profile").write_bytes(damage)
    ran = inside("--tokenizer", "mine", "--", "true", env={"TOKCAP_DATA_DIR": str(place.parent)})
    assert ran.status == 125
    assert b"'mine' is damaged or of another version" in ran.err
    assert ran.err.count(b"\n") == 1


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (b" words", "word lower 4-6"),
        (b"get", "part lower 3"),
        (b"HTTP", "part upper 4-6"),
        (b"123", "digits"),
        (b"\n", "newline 1"),
        (b"    ", "blank"),
        (b"();\n", "signs and newline"),
        (b"_id", "sign and word"),
        ("größe".encode(), "latin"),
        ("привет".encode(), "cyrillic"),
        ("中".encode(), "han"),
        ("───".encode(), "lines"),
        (" ━━╸".encode(), "heavy lines"),
        ("กา".encode(), "block 0e00"),
        (b"\xe6\xbc", "fragment"),
    ],
)
def test_a_token_has_a_kind(token, kind):
    assert kind_of(token) == kind
    assert kind_of(token.translate(SHAPE_OF_BYTES)) == kind


@pytest.mark.parametrize("name", SHIPPED)
def test_a_kind_that_a_profile_does_not_name_is_counted_as_what_it_is_part_of(name):
    factors = open_tokenizer(name).profile.factors
    assert factors.of("lines") == factors.of("heavy lines") == factors.of("symbols")


def test_tokens_of_the_same_shape_have_the_same_kind():
    chance = random.Random(20)
    characters = [*map(chr, range(0x80)), *"éж中"]
    for _ in range(2_000 * times()):
        token = "".join(chance.choices(characters, k=chance.randrange(1, 5))).encode()
        assert kind_of(token.translate(SHAPE_OF_BYTES)) == kind_of(token), token
