"""When the store of all hosts is away, breaks or is damaged: the output comes out, and it is right."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.support.buckets import SECRET, s3_server, variables
from tests.support.processes import wait_for
from tests.support.reference import recount
from tests.support.sharing import LINES, Host, warnings_of
from tests.support.tiers import nightly
from tokcap.environment import Environment
from tokcap.errors import NotFound, StoreError
from tokcap.store import open_store
from tokcap.store.bucket import reader_of
from tokcap.store.shared_outputs import RECORD, Entry, key_of, packed, unpacked


class TestFailures:
    def test_without_the_store_the_output_comes_out_with_one_warning(self, inside, hosts, shared):
        one, _ = hosts
        os.rmdir(shared)
        ran = one.call(inside, "-n", "250", "-o", "json", stdin=LINES)
        assert ran.status == 0
        message = warnings_of(ran)["NOT_SHARED"]
        assert message.startswith(f"other hosts cannot read this output: {shared} does not exist")
        assert ran.json["meta"]["handle"]
        # It stays on this host.
        assert one.pages(inside, ran.json["meta"]["handle"]) == LINES

    def test_the_warning_is_inside_the_limit(self, inside, hosts, shared):
        one, _ = hosts
        os.rmdir(shared)
        ran = one.call(inside, "-n", "120", stdin=LINES)
        assert b"other hosts cannot read" in ran.err
        assert recount(ran.out + ran.err) <= 120

    @nightly
    def test_a_server_that_is_away_costs_one_timeout_before_and_none_of_the_output(self, inside, cloud, link):
        _, two = cloud
        two.variables["TOKCAP_STORE"] = two.variables["TOKCAP_STORE"].replace("=30", "=0.5")
        link.hangs = True
        ran = two.call(inside, "-n", "250", "-o", "json", stdin=LINES)
        assert "did not answer within 0.5 seconds" in warnings_of(ran)["NOT_SHARED"]
        # What is on this host needs no server.
        asked = len(link.requests)
        assert two.pages(inside, ran.json["meta"]["handle"]) == LINES
        assert len(link.requests) == asked
        missing = two.call(inside, "show", "lake123456789")
        assert missing.status == 125
        assert b"did not answer" in missing.err

    @nightly
    @pytest.mark.parametrize(
        "broken", [r"PUT .*/out", r"PUT .*/entry", r"PUT .*partNumber=2", "POST .*uploadId"]
    )
    def test_an_interrupted_upload_leaves_nothing_that_can_be_found(self, inside, cloud, link, broken):
        one, two = cloud
        data = os.urandom(9 << 20) if "out" not in broken and "entry" not in broken else LINES
        two.variables["TOKCAP_STORE"] = two.variables["TOKCAP_STORE"].replace("=30", "=5")
        link.breaks = re.compile(broken)
        ran = two.call(inside, "-n", "250", "-o", "json", stdin=data)
        assert "NOT_SHARED" in warnings_of(ran)
        handle = ran.json["meta"]["handle"]
        assert one.call(inside, "show", handle).status == 1
        assert [*one.store().shared.outputs()] == []
        # The next run completes it.
        link.breaks = None
        assert two.keep(inside, data) == handle
        assert one.call(inside, "show", handle, "-n", "50").status == 0

    @nightly
    def test_two_hosts_that_upload_the_same_output_at_once_both_succeed(self, inside, cloud, link):
        one, two = cloud
        for request in (r"PUT .*/out", r"PUT .*/entry"):
            data = LINES + request.encode()
            link.before = (re.compile(request), lambda data=data: one.keep(inside, data))
            handle = two.keep(inside, data)
            assert link.before is None
            assert one.pages(inside, handle) == data
            other = Host(
                two.directory.with_name("three"), one.variables["TOKCAP_STORE"], variables(s3_server().port)
            )
            assert other.pages(inside, handle) == data

    @pytest.mark.provokes("INTERNAL_ERROR")
    def test_even_a_defect_in_an_upload_does_not_cost_the_output(self, inside, hosts, monkeypatch):
        one, _ = hosts

        def fail(*_):
            raise TypeError("a detail that may be secret")

        for step in ("entry", "upload"):
            monkeypatch.setattr(f"tokcap.store.shared_outputs.SharedOutputs.{step}", fail)
            ran = one.call(inside, "-n", "250", "-o", "json", stdin=LINES + step.encode())
            assert ran.status == 0
            assert warnings_of(ran)["NOT_SHARED"].endswith(
                "cannot read this output: internal error: TypeError"
            )
            assert ran.json["data"][0].startswith("line 0\n")

    @nightly
    def test_ctrl_c_ends_a_call_that_waits_for_the_store(self, cloud, link):
        _, two = cloud
        link.hangs = True
        two.variables["TOKCAP_STORE"] = two.variables["TOKCAP_STORE"].replace("=30", "=3000")
        with subprocess.Popen(
            [sys.executable, "-m", "tokcap", "-n", "100", "--", "seq", "1", "5000"],
            env={**os.environ, **two.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as called:
            wait_for(lambda: bool(link.requests))
            while called.poll() is None:
                called.send_signal(signal.SIGINT)
                time.sleep(0.05)
            _, err = called.communicate()
        assert called.returncode in (130, -signal.SIGINT)
        assert b"Traceback" not in err

    def test_damage_in_the_bucket_is_said_and_never_shown(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        bucket = one.store().shared.bucket
        wrong = LINES.replace(b"line 7\n", b"line 8\n")
        bucket.replace(key_of(handle, "out"), len(wrong), reader_of(wrong))
        ran = two.call(inside, "show", handle)
        assert (ran.status, ran.out) == (125, b"")
        assert f"out of {handle} is damaged".encode() in ran.err
        bucket.delete([key_of(handle, "out")])
        gone = two.call(inside, "show", handle)
        assert (gone.status, gone.out) == (125, b"")
        assert f"out of {handle} is damaged".encode() in gone.err

    @nightly
    def test_no_credentials_appear_anywhere(self, inside, cloud, link):
        _, two = cloud
        two.keep(inside)
        link.breaks = re.compile("PUT|GET")
        asked = [
            two.call(inside, "-n", "100", stdin=LINES[7:]),
            two.call(inside, "show", "lake123456789"),
            two.call(inside, "doctor"),
            two.call(inside, "stats"),
            two.call(inside, "spill", "list", "--shared"),
        ]
        two.variables["TOKCAP_STORE"] = f"s3://someone:{SECRET}@bucket"
        asked.append(two.call(inside, "doctor"))
        assert SECRET.encode() not in b"".join(ran.out + ran.err for ran in asked)

    @nightly
    def test_a_bucket_that_does_not_exist_is_named(self, inside, cloud):
        _, two = cloud
        ran = two.call(inside, "-n", "250", "-o", "json", "--store", "s3://not-there/x", stdin=LINES)
        assert "s3://not-there/x: there is no such bucket" in warnings_of(ran)["NOT_SHARED"]

    @nightly
    def test_a_forked_process_is_refused_instead_of_waiting_forever(self, inside, cloud):
        one, _ = cloud
        handle = one.keep(inside)
        store = one.store()
        assert store.shared.entry(handle)
        pid = os.fork()
        if not pid:
            try:
                store.shared.entry(handle)
            except StoreError:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_damage_to_one_file_of_an_entry_costs_only_that_file():
    data = bytearray(packed({"record.json": b"{}", "checksums": b"c" * 900, "index-x": b"i"}))
    assert unpacked(bytes(data)) == {"record.json": b"{}", "checksums": b"c" * 900, "index-x": b"i"}
    place = data.index(b"checksums") + 20
    data[place] ^= 1
    assert unpacked(bytes(data)) == {"record.json": b"{}", "index-x": b"i"}
    for size in range(len(data)):
        assert set(unpacked(bytes(data[:size]))) <= {"record.json", "index-x"}


def test_an_entry_without_a_valid_record_has_none():
    assert Entry("lake123456789", {RECORD: b"{"}).record is None
    with pytest.raises(NotFound):
        open_store(Environment({**os.environ, "HOME": "/nonexistent"}), "file:///nonexistent").find("@last")
