"""A store that many hosts share: what one of them stores, every other one can show, search and remove."""

import json
import os
import re
import time

from tests.support.sharing import LINES, next_name, warnings_of
from tokcap.store.bucket import reader_of
from tokcap.store.bucket_directory import DirectoryBucket
from tokcap.store.cleaning import DAY_SECONDS
from tokcap.store.shared_outputs import ENTRY, RECORD, key_of, packed, unpacked


class TestTwoHosts:
    def test_the_command_in_a_mark_shows_the_rest_on_every_host(self, inside, hosts):
        one, two = hosts
        first = one.call(inside, "-n", "100", stdin=LINES).out
        page, _, mark = first[:-1].rpartition(b"\n")
        command = re.search(rb"tokcap (show \S+)", mark)[1].decode().split()
        shown = page + b"\n"
        while command:
            page = two.call(inside, *command, "-n", "5000", "-o", "json").json
            shown += page["data"][0].encode()
            name = next_name(page["meta"])
            command = name and ["show", name]
        assert shown == LINES

    def test_what_was_stored_with_another_directory_stays_there(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        assert two.call(inside, "spill", "list").out == b"nothing is stored\n"
        (listed,) = two.call(inside, "spill", "list", "--shared", "-o", "json").json["data"]
        assert (listed["handle"], listed["path"], listed["damaged"]) == (handle, None, False)
        # A page does not copy the output.
        two.call(inside, "show", handle, "-n", "50")
        assert two.call(inside, "spill", "list").out == b"nothing is stored\n"

    def test_last_means_what_was_stored_on_this_host(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        assert b"nothing has been stored yet" in two.call(inside, "show", "@last").err
        two.call(inside, "spill", "path", handle)
        assert b"nothing has been stored yet" in two.call(inside, "show", "@last").err
        own = two.keep(inside, LINES[7:])
        assert two.call(inside, "show", "@last", "-o", "json").json["meta"]["handle"] == own

    def test_the_path_of_an_output_of_another_host_is_that_of_a_copy(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        path = two.call(inside, "spill", "path", handle[:6]).out.decode().strip()
        assert path.startswith(str(two.directory))
        with open(path, "rb") as file:
            assert file.read() == LINES
        assert [output.handle for output in two.store().outputs()] == [handle]

    def test_a_search_and_a_pointer_work_on_an_output_of_another_host(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        assert b"line 2999" in two.call(inside, "show", handle, "--grep", "29{3}", "-n", "100").out
        document = json.dumps({"a": [{"b": "x" * 9000}, {"b": "found"}]}).encode()
        handle = one.keep(inside, document)
        assert two.call(inside, "show", handle, "--pointer", "/a/1/b").out.strip() == b"found"

    def test_removing_an_output_removes_it_for_all_hosts(self, inside, hosts, shared):
        one, two = hosts
        handle = one.keep(inside)
        assert two.call(inside, "spill", "rm", handle[:5]).out == f"removed {handle}\n".encode()
        assert [*shared.iterdir()] == []
        missing = two.call(inside, "show", handle)
        assert missing.status == 1
        assert b"neither this host nor file://" in missing.err
        # A copy on another host stays until that host removes it.
        assert one.call(inside, "show", handle, "-n", "50").status == 0

    def test_removing_everything_leaves_what_other_hosts_have_stored(self, inside, hosts):
        one, two = hosts
        first, second = one.keep(inside), two.keep(inside, LINES[7:])
        two.call(inside, "spill", "rm", "--all")
        assert {output.handle for output in one.store().shared.outputs()} == {first, second}
        assert two.call(inside, "spill", "rm", first, "--shared").status == 2
        two.call(inside, "spill", "rm", "--all", "--shared")
        assert [*one.store().shared.outputs()] == []

    def test_an_abbreviated_handle_that_means_two_outputs_is_refused(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        shared = one.store().shared
        twin = handle[:5] + "".join(str(9 - int(digit)) for digit in handle[5:])
        for name in (ENTRY, "out"):
            data = shared.bucket.read(key_of(handle, name), 1 << 20)
            shared.bucket.create(key_of(twin, name), len(data), reader_of(data))
        ran = two.call(inside, "show", handle[:5])
        assert ran.status == 1
        assert f"could be any of {', '.join(sorted((handle, twin)))}".encode() in ran.err
        # The output of this host alone would be a guess.
        assert one.call(inside, "show", handle[:5]).status == 1

    def test_another_output_with_the_same_handle_gets_a_longer_one(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        shared = two.store().shared
        entry = shared.entry(handle)
        record = entry.record.replace(digest="00" * 20)
        data = packed({**entry.files, RECORD: record.packed()})
        shared.bucket.replace(key_of(handle, ENTRY), len(data), reader_of(data))
        longer = two.keep(inside)
        assert longer.startswith(handle)
        assert len(longer) == len(handle) + 6
        assert {output.handle for output in shared.outputs()} == {handle, longer}
        assert one.pages(inside, longer) == LINES

    def test_secrets_are_masked_before_the_upload_and_keys_have_only_the_handle(self, inside, hosts, shared):
        one, _ = hosts
        secret = b"ghp_" + b"a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        text = b"token " + secret + b"\n" + LINES
        ran = one.call(inside, "-n", "250", "--redact", "-o", "json", "--", "cat", name_of(one, text))
        handle = ran.json["meta"]["handle"]
        found = [path for path in shared.rglob("*") if path.is_file()]
        assert {str(path.relative_to(shared)) for path in found} == {
            key_of(handle, name) for name in ("out", ENTRY)
        }
        for path in found:
            data = path.read_bytes()
            assert secret not in data
            if path.name == ENTRY:
                assert secret not in b"".join(unpacked(data).values())

    def test_an_equal_output_is_uploaded_once(self, inside, hosts):
        one, two = hosts
        handle = one.keep(inside)
        bucket = one.store().shared.bucket
        before = [bucket.stat(key_of(handle, name)) for name in ("out", ENTRY)]
        assert two.keep(inside) == handle
        assert [bucket.stat(key_of(handle, name)) for name in ("out", ENTRY)] == before

    def test_the_library_reads_outputs_of_other_hosts(self, inside, hosts, monkeypatch):
        import tokcap

        one, two = hosts
        handle = one.keep(inside)
        for name, value in two.variables.items():
            monkeypatch.setenv(name, value)
        joined = "".join(page.text for page in tokcap.pages(handle=handle, limit=4000))
        assert joined.encode() == LINES
        monkeypatch.delenv("TOKCAP_STORE")
        assert tokcap.show(handle, store=two.variables["TOKCAP_STORE"], limit=50).meta.handle == handle


def name_of(host, data):
    host.directory.mkdir(exist_ok=True)
    path = host.directory / "given"
    path.write_bytes(data)
    return str(path)


class TestRetention:
    def test_old_outputs_and_leftovers_are_removed_by_the_clock_of_the_store(self, inside, hosts, shared):
        one, two = hosts
        old, new = one.keep(inside), one.keep(inside, LINES[7:])
        bucket = one.store().shared.bucket
        bucket.create(key_of("lake123456789", "out"), 1, reader_of(b"x"))
        (shared / ".new-0123456789abcdef").write_bytes(b"interrupted")
        (shared / "of somebody else").write_bytes(b"kept")
        for handle, days in ((old, 15), ("lake123456789", 2)):
            for path in (shared / handle[:4] / handle).iterdir():
                age(path, days)
        age(shared / ".new-0123456789abcdef", 2)
        age(shared / "of somebody else", 99)
        ran = two.call(inside, "spill", "gc", "--shared", "-o", "json").json["data"]
        assert (ran["removed"], ran["kept"], ran["left_overs"]) == ([old], 1, 2)
        assert [output.handle for output in one.store().shared.outputs()] == [new]
        assert {path.name for path in shared.iterdir()} == {new[:4], "of somebody else"}

    def test_an_old_output_that_is_stored_again_is_new(self, inside, hosts, shared):
        one, two = hosts
        handle = one.keep(inside)
        outputs = one.store().shared
        entry = outputs.entry(handle)
        # Others have added what they counted since the bytes were uploaded.
        record = entry.record.replace(stored_at=entry.record.stored_at - 13 * DAY_SECONDS)
        data = packed({**entry.files, RECORD: record.packed()})
        outputs.bucket.replace(key_of(handle, ENTRY), len(data), reader_of(data))
        age(shared / handle[:4] / handle / "out", 13)
        two.keep(inside)
        for path in (shared / handle[:4] / handle).iterdir():
            assert path.stat().st_mtime > time.time() - DAY_SECONDS / 2, path

    def test_a_clean_of_a_store_of_this_host_alone_is_refused(self, inside, with_store):
        for command in (("gc",), ("list",), ("rm", "--all")):
            ran = inside("spill", *command, "--shared")
            assert ran.status == 2
            assert b"--shared needs a store that all hosts read" in ran.err


def age(path, days):
    then = time.time() - days * DAY_SECONDS
    os.utime(path, (then, then))


class TestSharedDirectory:
    def test_its_mode_decides_who_can_read(self, inside, hosts, shared):
        one, _ = hosts
        shared.chmod(0o2750)
        handle = one.keep(inside)
        assert (shared / handle[:4] / handle / "out").stat().st_mode & 0o7777 == 0o640
        assert (shared / handle[:4] / handle).stat().st_mode & 0o777 == 0o750

    def test_one_that_every_user_can_write_is_refused(self, inside, hosts, shared):
        one, _ = hosts
        shared.chmod(0o777)
        ran = one.call(inside, "-n", "250", "-o", "json", stdin=LINES)
        assert f"every user can write in {shared}" in warnings_of(ran)["NOT_SHARED"]

    def test_a_link_in_the_place_of_an_output_is_not_followed(self, inside, hosts, shared, tmp_path):
        one, two = hosts
        handle = one.keep(inside)
        (tmp_path / "secret").write_bytes(LINES)
        out = shared / handle[:4] / handle / "out"
        out.unlink()
        out.symlink_to(tmp_path / "secret")
        ran = two.call(inside, "show", handle)
        assert (ran.status, ran.out) == (125, b"")
        assert b"symbolic link" in ran.err

    def test_a_file_system_without_links_will_do(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise OSError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
        bucket = DirectoryBucket(str(tmp_path))
        assert bucket.create("a/b/c", 1, reader_of(b"x"))
        assert not bucket.create("a/b/c", 1, reader_of(b"y"))
        assert bucket.read("a/b/c", 9) == b"x"
