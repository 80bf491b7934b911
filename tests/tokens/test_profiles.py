"""Counts by a profile are estimates, are called estimates, and behave like all other counts."""

from __future__ import annotations

import pytest

from tests.support.payloads import payload_of
from tokcap.tokens import count_bytes, open_index, open_tokenizer
from tokcap.tokens.profiles import SHIPPED, Profile, ProfileTokenizer

TEXT = "".join(f"line {number}: some plain words, 0x{number * 7919:08x}\n" for number in range(3000))


def test_everything_that_a_profile_counts_is_called_an_estimate(inside, with_store):
    ran = inside("--tokenizer", "claude", "-n", "500", "-o", "json", stdin=TEXT.encode())
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
    assert 0 < shown["mean_error_percent"] < 30
    assert shown["most_above_percent"] >= 0
    assert shown["factor"] > 1
    assert name in inside("tokenizer", "list").out.decode()
    refused = inside("tokenizer", "remove", name)
    assert (refused.status, refused.err) == (
        1,
        f"tokcap: the profile {name} comes with tokcap and cannot be removed\n".encode(),
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_a_count_is_that_of_the_base_encoding_times_the_factor(name):
    base, tokenizer = open_tokenizer("o200k_base").count(TEXT), open_tokenizer(name)
    assert tokenizer.count(TEXT) == pytest.approx(base * tokenizer.profile.factor / 1000, abs=1)


@pytest.mark.parametrize("keep", ["head", "tail", "ends", "focus"])
def test_a_window_of_a_profile_stays_within_its_limit(inside, keep):
    tokenizer = open_tokenizer("claude")
    for limit in (1, 5, 40, 300):
        ran = inside("--tokenizer", "claude", "--keep", keep, "-n", str(limit), stdin=TEXT.encode())
        assert tokenizer.count((ran.out + ran.err).decode()) <= limit


def test_stored_positions_are_those_of_the_profile_that_counted(inside, with_store):
    first = inside("--tokenizer", "claude", "-n", "500", "-o", "json", stdin=TEXT.encode()).json["meta"]
    more = inside("show", *first["continue"][1:], "-n", "500").json
    assert more["meta"]["token_offset"] == first["next_offset"]


@pytest.mark.parametrize("damage", [b"", b"tokcap profile 9\n", b"tokcap profile 2\nname x\n", b"\xff"])
def test_a_damaged_profile_is_refused_in_one_line(inside, tmp_path, damage):
    place = tmp_path / "data" / "profiles"
    place.mkdir(parents=True, mode=0o700)
    (place / "mine").write_bytes(damage)
    ran = inside("--tokenizer", "mine", "--", "true", env={"TOKCAP_DATA_DIR": str(place.parent)})
    assert ran.status == 125
    assert b"'mine' is damaged or of another version" in ran.err
    assert ran.err.count(b"\n") == 1


@pytest.mark.parametrize("factor", [250, 999, 1000, 1580, 3000])
def test_positions_are_in_order_whatever_the_factor_is(factor):
    base = open_tokenizer("o200k_base")
    tokenizer = ProfileTokenizer(Profile("mine", factor, 0, 0, "a test"), base)
    data = TEXT[:2000].encode()
    index = open_index(payload_of(data), tokenizer)
    total = index.total_tokens
    starts, ends = list(index.starts(0, total)), [index.byte_at(token) for token in range(total + 1)]
    assert (starts[0], starts[-1], ends[0], ends[-1]) == (0, len(data), 0, len(data))
    assert ends == sorted(ends)
    for token, start in enumerate(starts):
        # A token begins inside a base token, or where the text before it has that many tokens.
        assert start in (-1, ends[token])
        assert start == -1 or tokenizer.count(data[:start].decode()) == token
        assert start in (-1, len(data)) or index.positions([start]) == [(token, True)]
    assert list(index.last(7, 0).starts) == starts[-8:]
    lengths = tokenizer.token_lengths(data.decode())
    assert (len(lengths), sum(lengths)) == (total, len(data))
