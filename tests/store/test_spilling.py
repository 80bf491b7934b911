"""Withheld output is stored once, found by its handle, and read without running the command again."""

import json
import os
import stat
import subprocess
import sys

import pytest

from tests.support.marks import COMMAND, way_in
from tests.support.reference import recount
from tokcap.core.spool import MEMORY_BYTES

pytestmark = pytest.mark.usefixtures("with_store")

SEQ = "".join(f"{number}\n" for number in range(1, 3001)).encode()


def entries(data):
    return sorted(path for path in (data / "spill").glob("??/*") if not path.name.startswith("."))


def record_of(entry) -> dict:
    return json.loads((entry / "record.json").read_text())


def test_a_cut_names_the_command_that_gets_the_rest(inside):
    ran = inside("-n", "60", stdin=SEQ)
    shown, mark = ran.out[: ran.out.rindex(b"[TRUNCATED]")], COMMAND.search(ran.out)
    rest = inside("show", mark[2].decode(), "--token-offset", mark[3].decode(), "-n", "100000")
    assert shown + rest.out == SEQ
    assert recount(ran.out) <= 60


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


def test_output_that_certainly_fits_is_stored_and_shown_without_a_count(inside, with_store, monkeypatch):
    monkeypatch.setattr("tokcap.tokens.index.Index.__init__", lambda *_args: pytest.fail("counted"))
    assert inside("-n", "200", "--spill", "always", stdin=b"short\n").out == b"short\n"
    (entry,) = entries(with_store)
    assert (record_of(entry)["shape"], record_of(entry)["tokens"]) == ("auto", {})
    assert inside("show", "@last").out == b"short\n"
    assert sorted(path.name for path in entry.iterdir()) == ["out", "record.json"]


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
        ["--token-count"],
        ["-n", "9000", "--token-offset", "100"],
        ["-n", "50", "--keep", "tail"],
        ["-n", "50", "--keep", "ends"],
        ["-n", "50", "-o", "json"],
        ["-n", "50", "-o", "jsonl"],
    ],
)
def test_every_option_that_withholds_output_stores_all_of_it(inside, with_store, args):
    inside(*args, stdin=SEQ)
    (entry,) = entries(with_store)
    assert (entry / "out").read_bytes() == SEQ


def test_after_a_count_the_output_can_be_read_without_running_again(inside):
    counted = inside("--token-count", "-o", "json", stdin=SEQ).json
    page = inside("show", counted["meta"]["handle"], "-n", "40", "-o", "json").json
    assert page["meta"]["total_tokens"] == counted["meta"]["token_count"]
    assert page["meta"]["truncated"] is True


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


def test_arguments_that_are_not_utf_8_are_recorded(inside, with_store):
    word = os.fsdecode(b"\xff\xfe")
    inside("-n", "5", "--", "printf", f"{word}%0500d", "7")
    (entry,) = entries(with_store)
    assert record_of(entry)["command"] == ["printf", f"{word}%0500d", "7"]
    listed = inside("spill", "list", "-o", "json").json
    assert listed["data"][0]["command"][1] == "\ufffd\ufffd%0500d"


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
    ran = inside("-n", "60", "-o", "json", *args, stdin=rows).json
    hint = ran["meta"]["truncation_hint"]
    assert hint.endswith(" --tokenizer o200k_base --shape jsonl --fields a")
    way = way_in(hint)
    rest = inside(*way, "-n", "100000").out
    assert ran["data"] == [{"a": 1}] * (len(ran["data"]) - 1) + ["[TRUNCATED]"]
    assert rest == b'{"a":1}\n' * (200 - len(ran["data"]) + 1)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_only_the_owner_can_read_stored_outputs(tokcap, with_store, umask):
    tokcap("-n", "50", "--", "seq", "1", "3000", preexec_fn=lambda: os.umask(umask))
    for path in [with_store, *with_store.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_no_argument_is_in_a_file_name(tokcap, with_store):
    tokcap("-n", "50", "--", "sh", "-c", "seq 1 3000", "VERYSECRET")
    assert not [path for path in with_store.rglob("*") if "VERYSECRET" in path.name]


def test_a_large_output_goes_to_disk_while_it_arrives_and_no_draft_is_left(inside, with_store):
    script = f"import os; os.write(1, b'x' * {MEMORY_BYTES}); os.write(1, b'y\\n' * 1000000)"
    ran = inside("-n", "50", "--", sys.executable, "-c", script)
    (entry,) = entries(with_store)
    assert (entry / "out").stat().st_size == MEMORY_BYTES + 2_000_000
    assert not list((with_store / "spill").glob(".new-*"))
    assert entry.name.encode() in ran.out


class TestAStoreThatIsFull:
    """An output larger than `--max-bytes`: tokcap says that only a part is stored."""

    def test_the_mark_the_envelope_and_the_record_say_so(self, inside, with_store):
        ran = inside("-n", "60", "--max-bytes", "1000", "-o", "json", stdin=SEQ)
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

    def test_the_count_covers_the_whole_output(self, inside):
        assert inside("--token-count", "--max-bytes", "1000", stdin=SEQ).out == b"%d\n" % recount(SEQ)

    def test_outputs_that_differ_after_the_limit_are_stored_separately(self, inside, with_store):
        inside("-n", "60", "--max-bytes", "1000", stdin=SEQ)
        inside("-n", "60", "--max-bytes", "1000", stdin=SEQ + b"more")
        assert len(entries(with_store)) == 2


def test_memory_does_not_grow_with_the_output(with_store):
    """The outputs have a quarter of a gigabyte each; the memory limit is a seventh of that."""
    for source in ("head -c 256M /dev/zero", "yes 'a line of plain text, again and again' | head -c 256M"):
        code = (
            "import resource, subprocess, sys;"
            "done = subprocess.run([sys.executable, '-m', 'tokcap', '-n', '100', '--max-bytes', '100M',"
            f" '--', 'sh', '-c', {source!r}], stdout=subprocess.PIPE);"
            "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss;"
            "print(done.returncode, peak // 1024, done.stdout)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
        )
        status, megabytes, shown = done.stdout.split(maxsplit=2)
        assert status == "0"
        assert int(megabytes) < 150, done.stdout
        assert "only the first 104857600 bytes are stored" in shown


class TestACappedDocument:
    """A document whose end is missing is treated as text."""

    DOCUMENT = json.dumps({"items": [{"id": number, "body": "x y z " * 5} for number in range(200)]}).encode()

    @pytest.mark.parametrize("size", [100, 999, 1000, 1001, 3000])
    def test_it_is_shown_as_text(self, inside, size):
        inside("-n", "100", "--max-bytes", str(size), stdin=self.DOCUMENT)
        for offset in (0, 20, 50, 200, 400, 490, 500, 5000):
            page = inside("show", "@last", "-o", "json", "-n", "100", "--token-offset", str(offset)).json
            assert page["meta"]["shape"] == "text"
            assert page["meta"]["truncated"] is True
        assert inside("show", "@last", "--pointer", "/items/150").status == 1
        assert inside("show", "@last", "--fields", "items.id", "-n", "50").status == 0

    def test_a_stderr_that_is_stored_only_in_part_is_reported(self, inside):
        ran = inside("-n", "300", "--max-bytes", "20", "--", "sh", "-c", "echo hi; seq 1 1000 >&2")
        assert b"only the first 20 bytes are stored; tokcap show" in ran.err
        ran = inside(
            "-n", "300", "--max-bytes", "20", "-o", "json", "--", "sh", "-c", "echo hi; seq 1 1000 >&2"
        )
        assert "SPILL_TRUNCATED" in [warning["code"] for warning in ran.json["warnings"]]


def test_an_empty_stderr_does_not_change_the_handle(inside):
    one = inside("-n", "40", "-o", "json", "--", "seq", "1", "2000").json["meta"]["handle"]
    assert inside("--token-count", "-o", "json", "--", "seq", "1", "2000").json["meta"]["handle"] == one


def test_a_shape_given_by_one_caller_does_not_affect_the_next(inside):
    document = TestACappedDocument.DOCUMENT
    inside("-n", "60", "--shape", "text", stdin=document)
    assert inside("show", "@last", "-n", "60", "-o", "json").json["meta"]["shape"] == "json"
    inside("show", "@last", "--shape", "text", "-n", "60")
    assert inside("show", "@last", "-n", "60", "-o", "json").json["meta"]["shape"] == "json"


def test_the_recorded_shape_is_that_of_the_output_not_of_a_value_in_it(inside):
    table = b"id,body\n" + b"".join(b"%d,b%d\n" % (number, number) for number in range(300))
    inside("-n", "60", "--shape", "csv", stdin=table)
    whole = inside("show", "@last", "--grep", "b1", "-n", "100000").out
    args, pages = ["show", "@last", "--shape", "csv", "--grep", "b1", "-n", "400"], b""
    while True:
        page = inside(*args, "-o", "json").json
        pages += page["data"][0].encode()
        if "next_offset" not in page["meta"]:
            break
        args = [*args[:8], "--token-offset", str(page["meta"]["next_offset"])]
    assert pages == whole


def test_many_matches_in_one_long_line_are_found_in_linear_time(inside):
    """Once, every match was counted from the start of the line, which took minutes."""
    inside("--token-count", stdin=("abc def x" * 33 + "é").encode() * 20_000)
    meta = inside("show", "@last", "-n", "50", "--grep", "def", "-o", "json").json["meta"]
    assert meta["total_count"] > 10_000


@pytest.mark.parametrize("args", [[], ["-o", "json"], ["--token-count"], ["-n", "500"]])
def test_with_always_both_streams_are_stored(inside, args):
    inside("--spill", "always", *args, "--", "sh", "-c", "echo o; echo e >&2")
    assert inside("show", "@last", "--stream", "err").out == b"e\n"


def test_an_exact_total_is_exact_in_every_mode_and_past_the_store(inside):
    big = b"".join(b"%d\n" % number for number in range(40_000))
    total = recount(big)
    for args in (
        ["-n", "50"],
        ["-n", "50", "--max-bytes", "1000"],
        ["--mode", "summary"],
        ["-n", "50", "--keep", "tail"],
    ):
        meta = inside(*args, "--exact-total", "-o", "json", stdin=big).json["meta"]
        assert meta["total_tokens"] == total, args


def test_a_summary_from_the_store_says_how_the_command_ended(inside):
    inside("-n", "5", "--", "sh", "-c", "seq 1 100; exit 3")
    assert b"exit 3" in inside("show", "@last", "--mode", "summary", "-n", "200").out
