"""`meta.continue` has the words of the next call, in the view that its offset counts in."""

import json

import pytest

from tests.support.tiers import some_everyday

RECORDS = [{"id": number, "name": f"item {number}"} for number in range(200)]
LIST = json.dumps(RECORDS).encode()
SEQ = b"".join(b"%d\n" % n for n in range(1, 2001))


def pages(inside, *words, stdin=b""):
    """Follow `meta.continue` as the guide does."""
    page = inside(*words, stdin=stdin).json
    yield page
    while "continue" in page["meta"]:
        page = inside(*page["meta"]["continue"]).json
        yield page


@pytest.fixture
def session_at(inside, with_store):
    """Start a session of which only a part is left."""

    def start(total: int, used: int) -> str:
        inside("budget", "start", "work", "--total", str(total))
        inside("budget", "record", "--session", "work", "--input", str(used), "--output", "0")
        return "work"

    return start


def ids_in(page) -> list[int]:
    """Return the records of a page."""
    return [record["id"] for record in page["data"] if record != "[TRUNCATED]"]


@pytest.mark.parametrize(("left", "total"), [(0.45, 9200), (0.6, 6900)])
def test_the_loop_of_the_guide_gets_every_record_once_while_a_session_runs_low(
    inside, session_at, left, total
):
    session = session_at(total, round(total * (1 - left)))
    found, fractions = [], []
    for page in pages(inside, "-o", "json", "-n", "400", "--session", session, stdin=LIST):
        # A program parses it, so no session makes a table of it.
        assert "mode" not in page["meta"]
        assert page["meta"]["session"] == session
        found += ids_in(page)
        fractions.append(page["meta"]["budget_remaining"] / total)
    assert found == list(range(200))
    # It went through every border at which a session chooses a shorter mode for a new output.
    assert fractions[-1] < 0.07


@pytest.mark.parametrize("total", some_everyday(range(1500, 4000, 173), 4))
def test_a_loop_that_a_session_cannot_pay_for_ends_in_a_refusal(inside, session_at, total):
    """An answer without room for its payload must not look like the last page."""
    session = session_at(total, round(total * 0.45))
    strings = [f"{number} " + "word " * (number * 7 % 90) for number in range(40)]
    args = ("-o", "json", "-n", "300", "--session", session)
    found = []
    # A value that is too long for what is left is replaced by the mark, and a warning names its pointer.
    expected = {f"/{number}": text for number, text in enumerate(strings)}
    for page in pages(inside, *args, stdin=json.dumps(strings).encode()):
        if page["error"]:
            assert page["error"]["code"] == "BUDGET_EXHAUSTED"
            break
        found += [value for value in page["data"] or () if value != "[TRUNCATED]"]
        for warning in page["warnings"]:
            if warning["code"] == "FIELD_TRUNCATED":
                del expected[warning["pointer"]]
    else:
        assert found == [*expected.values()]
    assert found == [*expected.values()][: len(found)]


def test_the_next_page_keeps_the_view(inside, with_store):
    words = ("-o", "json", "-n", "220", "--fields", "name", "--sentinel", "<cut>")
    words += ("--tokenizer", "o200k_base")
    found = []
    for page in pages(inside, *words, stdin=LIST):
        assert page["meta"]["tokenizer"] == "o200k_base"
        found += [record["name"] for record in page["data"] if record != "<cut>"]
    assert found == [record["name"] for record in RECORDS]


def test_a_page_of_show_goes_on_with_its_own_limit_and_pattern(inside, with_store):
    inside("-n", "50", stdin=SEQ)
    first = ("show", "@last", "-o", "json", "-n", "200", "--grep", "7$", "--context", "1", "--sentinel", "")
    text = "".join(part for page in pages(inside, *first) for part in page["data"])
    assert text == inside("show", "@last", "-n", "100000", "--grep", "7$", "--context", "1").out.decode()


def test_it_is_there_exactly_if_something_is_left(inside, with_store):
    for words, stdin in [(["-n", "500"], b"short\n"), (["--token-count"], SEQ), (["-n", "60"], SEQ)]:
        meta = inside("-o", "json", *words, stdin=stdin).json["meta"]
        assert ("continue" in meta) == ("next_offset" in meta)


def test_the_library_goes_on_in_the_same_view(session_at):
    import tokcap

    session = session_at(12_000, 6_600)
    page = tokcap.cap(LIST.decode(), 300, mode="table", session=session, spill="auto")
    text = page.text
    assert page.meta.mode == "table"
    assert page.next_call["mode"] == "table"
    while page.next_call:
        page = tokcap.show(**page.next_call)
        assert page.meta.mode == "table"
        text += page.text
    numbers = [line.split("\t")[0] for line in text.splitlines()]
    assert [number for number in numbers if number.isdigit()] == [str(n) for n in range(200)]
