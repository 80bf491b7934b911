"""Withheld output is stored once, found by its handle, and read without running the command again."""

import json

import pytest

from tests.support.marks import COMMAND, way_in
from tests.support.reference import recount

pytestmark = pytest.mark.usefixtures("with_store")

SEQ = "".join(f"{number}\n" for number in range(1, 3001)).encode()


def entries(data):
    return sorted(path for path in (data / "spill").glob("??/*") if not path.name.startswith("."))


def record_of(entry) -> dict:
    return json.loads((entry / "record.json").read_text())


def test_pages_by_the_printed_command_join_and_the_command_runs_once(tokcap, tmp_path):
    script = "echo run >> log; seq 1 400"
    page = tokcap("-n", "200", "--", "sh", "-c", script, cwd=tmp_path)
    joined = b""
    while mark := COMMAND.search(page.out):
        assert recount(page.out) <= 200
        joined += page.out[: page.out.rindex(b"[TRUNCATED]")]
        # The printed command has no limit, so the limit of the run applies.
        page = tokcap(*mark[1].decode().split()[1:], cwd=tmp_path)
    assert joined + page.out == "".join(f"{number}\n" for number in range(1, 401)).encode()
    assert (tmp_path / "log").read_text() == "run\n"


def test_output_that_fits_is_not_stored(inside, with_store):
    assert inside("-n", "9000", stdin=SEQ).out == SEQ
    assert inside(stdin=SEQ).out == SEQ
    assert not with_store.exists()


@pytest.mark.parametrize("args", [["-n", "9000"], [], ["-o", "json"], ["-n", "50", "--token-offset", "10"]])
def test_with_always_everything_is_stored(inside, with_store, args):
    inside("--spill", "always", *args, stdin=SEQ)
    (entry,) = entries(with_store)
    assert (entry / "out").read_bytes() == SEQ


def test_with_never_nothing_is_stored_and_the_mark_has_no_handle(inside, with_store):
    ran = inside("--spill", "never", "-n", "50", stdin=SEQ)
    assert b"next: --token-offset" in ran.out
    assert not with_store.exists()


@pytest.mark.parametrize(
    "args",
    [
        ["-n", "50"],
        ["-n", "9000", "--token-offset", "100"],
        ["-n", "50", "--keep", "tail"],
        ["-n", "50", "--keep", "ends"],
        ["-n", "200", "-o", "json"],
        ["-n", "200", "-o", "jsonl"],
    ],
)
def test_every_option_that_withholds_output_stores_all_of_it(inside, with_store, args):
    inside(*args, stdin=SEQ)
    (entry,) = entries(with_store)
    assert (entry / "out").read_bytes() == SEQ


def test_a_count_stores_nothing_unless_asked(inside, with_store):
    assert (
        inside("--token-count", stdin=SEQ).out == inside("--token-count", "--spill", "always", stdin=SEQ).out
    )
    assert len(entries(with_store)) == 1
    inside("spill", "rm", "--all")
    assert inside("--token-count", "-o", "json", stdin=SEQ).json["meta"].get("handle") is None
    assert not entries(with_store)


def test_both_streams_are_stored_and_a_hidden_stderr_can_be_read(inside, with_store):
    script = "seq 1 500; seq 1000 1600 >&2; exit 7"
    ran = inside("-n", "400", "--", "sh", "-c", script)
    (entry,) = entries(with_store)
    assert ran.status == 7
    assert (entry / "err").read_bytes() == "".join(f"{number}\n" for number in range(1000, 1601)).encode()
    way = way_in(ran.err)
    assert way[2:] == ["--stream", "err"]
    assert inside(*way, "-n", "5000").out.endswith(b"1600\n")


def test_a_record_says_what_was_run_and_what_came_out(inside, with_store):
    inside("-n", "50", "--", "sh", "-c", "seq 1 3000; echo oops >&2; exit 3")
    (entry,) = entries(with_store)
    record = record_of(entry)
    assert record["command"] == ["sh", "-c", "seq 1 3000; echo oops >&2; exit 3"]
    assert (record["exit_status"], record["signal"], record["shape"]) == (3, None, "text")
    assert record["stored_bytes"] == {"out": len(SEQ), "err": 5}
    assert record["tokens"] == {"cl100k_base": {"out": recount(SEQ), "err": recount(b"oops\n")}}
    assert record["complete"] is True
    assert record["handle"] == entry.name
    assert entry.parent.name == entry.name[:2]


def test_arguments_are_not_recorded_if_the_option_is_off(inside, with_store):
    inside("-n", "50", "--no-record-arguments", "--", "seq", "1", "3000")
    (entry,) = entries(with_store)
    assert record_of(entry)["command"] is None
    assert b"3000" not in (entry / "record.json").read_bytes()


def test_equal_outputs_are_stored_once_and_print_the_same_bytes(tokcap, with_store, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    one = tokcap("-n", "70", "--", "seq", "1", "900", cwd=tmp_path)
    other = tokcap("-n", "70", "--", "sh", "-c", "seq 1 900", cwd=tmp_path / "elsewhere")
    assert one == other
    (entry,) = entries(with_store)
    assert record_of(entry)["command"] == ["sh", "-c", "seq 1 900"]
    tokcap("-n", "70", "--", "seq", "1", "901")
    assert len(entries(with_store)) == 2


def test_the_printed_command_has_every_option_that_offsets_depend_on(inside):
    rows = b'{"a":1,"b":"x y z"}\n' * 200
    args = ["--tokenizer", "o200k_base", "--shape", "jsonl", "--fields", "a"]
    ran = inside("-n", "500", "-o", "json", *args, stdin=rows).json
    hint = ran["meta"]["truncation_hint"]
    assert hint.endswith(" --tokenizer o200k_base --shape jsonl --fields a")
    way = way_in(hint)
    rest = inside(*way, "-n", "100000").out
    assert ran["data"] == [{"a": 1}] * (len(ran["data"]) - 1) + ["[TRUNCATED]"]
    assert rest == b'{"a":1}\n' * (200 - len(ran["data"]) + 1)


def test_no_argument_is_in_a_file_name(tokcap, with_store):
    tokcap("-n", "50", "--", "sh", "-c", "seq 1 3000", "VERYSECRET")
    assert not [path for path in with_store.rglob("*") if "VERYSECRET" in path.name]


class TestAStoreThatIsFull:
    """An output larger than `--max-bytes`: tokcap says that only a part is stored."""

    def test_the_mark_the_envelope_and_the_record_say_so(self, inside, with_store):
        ran = inside("-n", "500", "--max-bytes", "1000", "-o", "json", stdin=SEQ)
        (entry,) = entries(with_store)
        meta = ran.json["meta"]
        assert (entry / "out").read_bytes() == SEQ[:1000]
        assert meta["spill_truncated"] is True
        assert "only the first 1000 bytes are stored; tokcap show" in meta["truncation_hint"]
        assert [warning["code"] for warning in ran.json["warnings"]] == ["SPILL_TRUNCATED"]
        record = record_of(entry)
        assert (record["complete"], record["lost_bytes"]) == (False, {"out": len(SEQ) - 1000})
        text = inside("-n", "60", "--max-bytes", "1000", stdin=SEQ)
        assert b"only the first 1000 bytes are stored" in text.out
        assert text.err == b""

    def test_the_last_page_says_that_the_rest_was_not_stored(self, inside):
        # The window is kept even if it is larger than what is stored.
        inside("-n", "5", "--max-bytes", "1000", stdin=SEQ)
        page = inside("show", "@last", "-n", "500", "--token-offset", "400")
        assert recount(page.out) <= 500
        assert page.out.rstrip().endswith(b"the rest was not stored")
        shown = page.out[: page.out.rindex(b"[TRUNCATED]")]
        assert SEQ[:1000].startswith(inside("show", "@last", "-n", "5000", "--token-offset", "0").out[:50])
        assert shown.strip() in SEQ[:1000]
        envelope = inside("show", "@last", "-n", "900", "-o", "json").json
        assert envelope["meta"]["spill_truncated"] is True
        assert envelope["meta"]["truncated"] is True
        assert "next_offset" not in envelope["meta"]
        assert envelope["data"][-1] == "[TRUNCATED]"

    def test_without_any_limit_it_is_a_warning(self, inside):
        inside("--spill", "always", "--max-bytes", "1000", stdin=SEQ)
        shown = inside("show", "@last")
        assert shown.out == SEQ[:1000]
        assert b"warning: only the first 1000 of" in shown.err

    @pytest.mark.parametrize("keep", ["tail", "ends"])
    def test_the_end_is_shown_although_it_is_not_stored(self, inside, keep):
        ran = inside("-n", "90", "--keep", keep, "--max-bytes", "1000", stdin=SEQ)
        assert ran.out.endswith(b"2999\n3000\n")
        assert b"only the first 1000 bytes are stored" in ran.out
        assert inside("show", "@last", "-n", "5000").out.startswith(SEQ[:900])


class TestACappedDocument:
    """A document whose end is missing is treated as text."""

    DOCUMENT = json.dumps({"items": [{"id": number, "body": "x y z " * 5} for number in range(200)]}).encode()

    @pytest.mark.parametrize("size", [100, 999, 1000, 1001, 3000])
    def test_it_is_shown_as_text(self, inside, with_store, size):
        inside("-n", "100", "--max-bytes", str(size), stdin=self.DOCUMENT)
        assert record_of(*entries(with_store))["shape"] == "auto"
        for offset in (0, 20, 50, 200, 400, 490, 500, 5000):
            page = inside("show", "@last", "-o", "json", "-n", "250", "--token-offset", str(offset)).json
            assert page["meta"]["shape"] == "text"
            assert page["meta"]["truncated"] is True
        assert inside("show", "@last", "--pointer", "/items/150").status == 1
        assert inside("show", "@last", "--fields", "items.id", "-n", "50").status == 0


def test_a_shape_given_by_one_caller_does_not_affect_the_next(inside):
    document = TestACappedDocument.DOCUMENT
    inside("-n", "60", "--shape", "text", stdin=document)
    assert inside("show", "@last", "-n", "210", "-o", "json").json["meta"]["shape"] == "json"
    inside("show", "@last", "--shape", "text", "-n", "60")
    assert inside("show", "@last", "-n", "210", "-o", "json").json["meta"]["shape"] == "json"


def test_a_summary_from_the_store_says_how_the_command_ended(inside):
    inside("-n", "5", "--", "sh", "-c", "seq 1 100; exit 3")
    assert b"exit 3" in inside("show", "@last", "--mode", "summary", "-n", "200").out
