"""`tokcap show`: windows, fields, values and matching lines of a stored output."""

import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.marks import way_in
from tests.support.reference import recount
from tests.support.terminal import Typist
from tests.support.tiers import examples, times

pytestmark = pytest.mark.usefixtures("with_store")

DOCUMENT = json.dumps(
    {
        "items": [
            {"id": number, "body": f"line one of {number}\nline \u00e9 two\n" * 20} for number in range(30)
        ],
        "a/b": {"m~n": [1, 2.50, None]},
    }
).encode()


@pytest.fixture
def stored(inside):
    """Store a payload and return its handle."""

    def store(payload: bytes, *args: str) -> str:
        return inside("--token-count", "--spill", "always", "-o", "json", *args, stdin=payload).json["meta"][
            "handle"
        ]

    return store


def test_show_stores_nothing(inside, with_store, stored):
    handle = stored(b"".join(b"%d\n" % number for number in range(5000)))
    before = sorted(path.name for path in (with_store / "spill").glob("??/*"))
    for args in (
        ["-n", "50"],
        ["--token-count"],
        ["--grep", "77", "-n", "30"],
        ["-n", "50", "--keep", "tail"],
    ):
        inside("show", handle, *args)
    assert sorted(path.name for path in (with_store / "spill").glob("??/*")) == before == [handle]


def test_a_window_of_a_stored_output_equals_that_of_the_run(inside):
    """For every shape: an answer from the store, its index and landmarks equals that of the run."""
    rows = "".join(
        f'{{"id": {number}, "name": "n{number}", "tags": ["x", {{"y": {number}}}]}},'
        for number in range(4000)
    )
    payloads = {
        "json": f"[{rows[:-1]}]",
        "jsonl": rows.replace("},{", "}\n{")[:-1],
        "csv": "id,name\n" + "".join(f'{number},"a ""b"", c\n{number}"\n' for number in range(4000)),
        "text": "".join(f"line {number} of it\n" for number in range(4000)),
    }
    for shape, payload in payloads.items():
        data = payload.encode()
        handle = inside("-n", "250", "-o", "json", stdin=data).json["meta"]["handle"]
        for offset in (0, 777, 30_000, 15_000, 10**9) if times() > 1 else (15_000, 777):
            for keep in ("head", "tail", "ends"):
                args = ["-n", "150", "--token-offset", str(offset), "--keep", keep, "--sentinel", ""]
                run = inside(*args, "--spill", "never", stdin=data)
                shown = inside("show", handle, *args)
                assert (shown.out, shown.status) == (run.out, run.status), (shape, offset, keep)
                # What `meta` says of an envelope takes room from its data.
                meta = inside("show", handle, "-n", "900", *args[2:], "-o", "json").json["meta"]
                assert meta["shape"] == shape


class TestPointer:
    def test_a_string_is_decoded_and_can_be_paged(self, inside, stored):
        handle = stored(DOCUMENT)
        body = json.loads(DOCUMENT)["items"][3]["body"]
        assert inside("show", handle, "--pointer", "/items/3/body", "-n", "5000").out.decode() == body
        page = inside("show", handle, "--pointer", "/items/3/body", "-n", "60")
        assert recount(page.out) <= 60
        way = way_in(page.out)
        assert way[-2:] == ["--pointer", "/items/3/body"]
        shown = page.out[: page.out.rindex(b"[TRUNCATED]")]
        assert (shown + inside(*way, "-n", "5000").out).decode() == body

    @pytest.mark.parametrize("indent", [None, 2, "\t"])
    def test_a_nested_value_is_shown_as_it_would_be_alone(self, inside, stored, indent):
        value = {"b": [1, 2, {"c": "\n  ]", "d": {}}], "e": []}
        handle = stored(json.dumps({"x": [{"a": value}, 7]}, indent=indent).encode())
        for pointer, inner in (("/x/0/a", value), ("/x/0/a/b", value["b"]), ("/x/0/a/b/2", value["b"][2])):
            alone = json.dumps(inner, indent=indent) + "\n"
            assert inside("show", handle, "--pointer", pointer).out == alone.encode()

    def test_other_values_are_shown_unchanged(self, inside, stored):
        handle = stored(DOCUMENT)
        for pointer, value in (
            *(("/items/0/id", b"0"), ("/a~1b/m~0n", b"[1, 2.5, null]")),
            *(("/a~1b/m~0n/2", b"null"), ("/items/29/id", b"29")),
        ):
            assert inside("show", handle, "--pointer", pointer).out == value + b"\n"

    def test_the_error_for_a_pointer_to_nothing_lists_what_exists(self, inside, stored):
        handle = stored(DOCUMENT)
        for pointer, message in (
            ("/items/30", "/items has the elements 0 to 29"),
            ("/items/x", "/items has the elements 0 to 29"),
            ("/items/3/bdy", "/items/3 has the keys id, body"),
            ("/nope", "the document has the keys items, a/b"),
            ("/items/3/id/x", "/items/3/id is not an object or array"),
        ):
            ran = inside("show", handle, "--pointer", pointer)
            assert (ran.status, ran.out) == (1, b"")
            assert message in ran.err.decode()

    @pytest.mark.parametrize(
        ("pointer", "value"), [("/name", "Ann"), ("/tags", "[1]"), ("/text", "two\r\nlines")]
    )
    def test_a_value_ends_with_one_newline_on_a_terminal_only(self, tokcap, pointer, value):
        document = b'{"name": "Ann", "tags": [1], "text": "two\\nlines\\n"}'
        handle = tokcap("--spill", "always", "-o", "json", stdin=document).json["meta"]["handle"]
        with Typist(sys.executable, "-m", "tokcap", "show", handle, "--pointer", pointer) as person:
            assert person.wait() == 0
            assert person.seen.endswith(f"\n{value}\r\n")
        assert tokcap("show", handle, "--pointer", "/name").out == b"Ann"
        with Typist(
            sys.executable, "-m", "tokcap", "show", handle, "--pointer", "/name", "--token-count"
        ) as one:
            assert one.wait() == 0
            assert one.seen.endswith("\n1\r\n")

    def test_a_pointer_must_begin_with_a_slash(self, inside, stored):
        assert inside("show", stored(DOCUMENT), "--pointer", "items").status == 2

    def test_json_lines_and_tables_have_pointers_too(self, inside, stored):
        lines = stored(b'{"a": "x"}\n{"a": "y"}\n[7]\n')
        assert inside("show", lines, "--pointer", "/1/a").out == b"y"
        assert inside("show", lines, "--pointer", "/2/0").out == b"7\n"
        assert inside("show", lines, "--pointer", "/3").status == 1
        table = stored(b'id,body\n1,"say ""hi"", or\nnot"\n2,plain\n')
        assert inside("show", table, "--pointer", "/0/body").out == b'say "hi", or\nnot'
        assert inside("show", table, "--pointer", "/1/1").out == b"plain"
        assert inside("show", table, "--pointer", "/0").out == b'id,body\n1,"say ""hi"", or\nnot"\n'
        assert inside("show", table, "--pointer", "/1").out == b"id,body\n2,plain\n"
        for nothing, there in (("/2/body", "0 to 1"), ("/2", "0 to 1"), ("/0/1/2", "/ROW or /ROW/COLUMN")):
            missed = inside("show", table, "--pointer", nothing)
            assert (missed.status, there in missed.err.decode()) == (1, True)
        assert inside("show", stored(b"words\n"), "--pointer", "/0").status == 1

    @examples(20)
    @given(
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: (
                # A line break in a key could not be passed as an argument here.
                st.lists(inner, max_size=4)
                | st.dictionaries(st.text('ab~/"\\ é漢😀', max_size=4), inner, max_size=4)
            ),
            max_leaves=25,
        ),
        indent=st.sampled_from([None, 2]),
    )
    def test_every_pointer_leads_to_its_value(self, inside, value, indent):
        document = json.dumps({"top": value}, indent=indent).encode()
        handle = inside("--token-count", "--spill", "always", "-o", "json", stdin=document).json["meta"][
            "handle"
        ]

        def check(pointer, expected):
            shown = inside("show", handle, "--pointer", pointer).out.decode()
            assert (shown if isinstance(expected, str) else json.loads(shown)) == expected
            if isinstance(expected, dict):
                for key, child in expected.items():
                    check(f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}", child)
            if isinstance(expected, list):
                for place, child in enumerate(expected):
                    check(f"{pointer}/{place}", child)

        check("/top", value)


class TestGrep:
    LOG = b"".join(
        b"%d %s happened\n" % (number, b"error" if number % 100 == 7 else b"thing") for number in range(1000)
    )

    def test_matching_lines_have_their_line_number_and_token_offset(self, inside, stored):
        handle = stored(self.LOG)
        lines = inside("show", handle, "--grep", "err.r").out.decode().splitlines()
        assert len(lines) == 10
        for number, line in enumerate(lines):
            at, token, text = line.split(":", 2)
            assert text == f"{number * 100 + 7} error happened"
            assert int(at) == number * 100 + 8
            assert int(token) == recount(b"".join(self.LOG.splitlines(keepends=True)[: int(at) - 1]))
            page = inside("show", handle, "--token-offset", token, "-n", "9")
            assert page.out.startswith(text.encode())

    def test_context_lines_are_marked_as_in_grep(self, inside, stored):
        shown = inside("show", stored(self.LOG), "--grep", "^(7|9|507) ", "--context", "1").out.decode()
        assert [re.sub(r"([:-])\d+([:-])", r"\1\2", line) for line in shown.splitlines()] == [
            "7--6 thing happened",
            "8::7 error happened",
            "9--8 thing happened",
            "10::9 thing happened",
            "11--10 thing happened",
            "--",
            "507--506 thing happened",
            "508::507 error happened",
            "509--508 thing happened",
        ]

    def test_matches_are_capped_and_paged(self, inside, stored):
        handle = stored(self.LOG)
        whole = inside("show", handle, "--grep", "[02468] thing", "-n", "1000000").out
        assert whole.count(b"\n") == 500
        pages, args = b"", ["show", handle, "--grep", "[02468] thing", "-n", "300"]
        while True:
            page = inside(*args).out
            assert recount(page) <= 300
            way = way_in(page)
            pages += page[: page.rindex(b"[TRUNCATED]")] if way else page
            if not way:
                break
            assert way[2::2] == ["--token-offset", "--grep"]
            assert way[-1] == "[02468] thing"
            args = [*way, "-n", "300"]
        assert pages == whole

    @pytest.mark.parametrize("offset", ["0", "7", "78", "99999999"])
    def test_all_of_the_output_is_searched_wherever_the_handle_points(self, offset, inside, stored):
        handle = stored(self.LOG)
        for options in (("--grep", "error"), ("--grep", "thing", "-n", "60"), ("--grep", "^7 ")):
            found = inside("show", f"{handle}@{offset}", *options)
            assert found.out == inside("show", handle, *options).out != b""

    def test_a_very_long_line_is_shown_around_its_matches(self, inside, stored):
        line = (
            b"x" * 50_000 + b" NEEDLE one " + b"y " * 50_000 + "é NEEDLE two".encode() + b" z" * 1000 + b"\n"
        )
        handle = stored(b"short\n" + line)
        shown = inside("show", handle, "--grep", "NEEDLE", "-n", "2000").out.decode().splitlines()
        assert len(shown) == 2
        for excerpt, word in zip(shown, ("one", "two"), strict=True):
            number, token, text = excerpt.split(":", 2)
            assert number == "2"
            assert f"NEEDLE {word}" in text
            assert len(text) < 500
            page = inside("show", handle, "--token-offset", token, "-n", "50", "--align", "token").out
            assert f"NEEDLE {word}".encode() in page

    def test_no_match_is_status_1(self, inside, stored):
        ran = inside("show", stored(self.LOG), "--grep", "nowhere")
        assert (ran.status, ran.out, ran.err) == (1, b"", b"tokcap: no line matches 'nowhere'\n")

    @pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<a", "a{99999999999}"])
    def test_a_bad_pattern_is_bad_usage(self, inside, stored, pattern):
        ran = inside("show", stored(self.LOG), "--grep", pattern)
        assert ran.status == 2
        assert b"is not a valid regular expression" in ran.err

    def test_bytes_that_are_not_utf_8_do_not_hide_a_match(self, inside, stored):
        handle = stored(b"\xff\xfe good\r\nplain\n\x80 good")
        token = recount(b"\xff\xfe good\r\nplain\n")
        assert inside("show", handle, "--grep", "good").out == b"1:0:\xff\xfe good\n3:%d:\x80 good\n" % token

    def test_values_can_be_searched(self, inside, stored):
        shown = inside(
            "show", stored(DOCUMENT), "--pointer", "/items/3/body", "--grep", "two", "-n", "60"
        ).out
        assert shown.startswith(b"2:")
        assert "é two".encode() in shown


def test_the_limit_of_show_overrides_that_of_the_run(inside, monkeypatch):
    inside("-n", "40", "--", "seq", "1", "500")
    assert recount(inside("show", "@last").out) <= 40
    assert recount(inside("show", "@last", "-n", "100").out) > 40
    monkeypatch.setenv("TOKCAP_TOKEN_LIMIT", "200")
    assert 100 < recount(inside("show", "@last").out) <= 200
