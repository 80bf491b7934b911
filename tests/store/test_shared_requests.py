"""What a page from the store of all hosts costs, and where its settings come from."""

import os

import pytest

from tests.support.buckets import SECRET, s3_server, variables
from tests.support.loading import modules_loaded_for
from tests.support.program import run_process
from tests.support.sharing import LINES
from tests.support.tiers import as_nightly, nightly
from tokcap.store.bucket_directory import DirectoryBucket


def test_what_one_host_stores_in_a_bucket_is_shown_listed_and_removed_on_another(inside, cloud, link):
    one, two = cloud
    handle = one.keep(inside)
    assert two.pages(inside, handle) == LINES
    assert link.requests
    (listed,) = two.call(inside, "spill", "list", "--shared", "-o", "json").json["data"]
    assert (listed["handle"], listed["damaged"]) == (handle, False)
    assert two.call(inside, "spill", "rm", handle).out == f"removed {handle}\n".encode()
    assert two.call(inside, "show", handle).status == 1


class TestRequests:
    @nightly
    def test_a_page_of_a_large_output_transfers_only_its_window(self, cloud, link):
        one, two = cloud
        text = b"".join(b"%d the quick brown fox %d jumps\n" % (n, n * 7919 % 104729) for n in range(200_000))
        data = text * (64_000_000 // len(text) + 1)
        counted = run_process(
            "--token-count", "--spill", "always", "-o", "json", stdin=data, env=one.variables
        ).json["meta"]
        handle, total = counted["handle"], counted["token_count"]
        for place in (total - 300, total // 2, 0):
            link.forget()
            ran = run_process("show", f"{handle}@{place}", "-n", "500", "-o", "json", env=two.variables)
            assert ran.json["data"][0].encode() in data
            self.check_cost(link)
        link.forget()
        tail = run_process("show", handle, "--keep", "tail", "-n", "500", env=two.variables)
        assert data.endswith(tail.out.partition(b"\n")[2])
        self.check_cost(link)

    @staticmethod
    def check_cost(link):
        reads = [request for request in link.requests if request.startswith("GET ")]
        assert 2 <= len(reads) <= 3, link.requests
        # What was found out may be told to the other hosts.
        assert len(link.requests) - len(reads) <= 1
        assert link.received_bytes <= 1 << 20

    @nightly
    def test_a_handle_is_found_without_listing_the_bucket(self, inside, cloud, link):
        one, two = cloud
        handle = one.keep(inside)
        link.forget()
        two.call(inside, "show", handle, "-n", "50")
        assert not [request for request in link.requests if "list-type" in request]
        link.forget()
        two.call(inside, "show", handle[:7], "-n", "50")
        (listing,) = [request for request in link.requests if "list-type" in request]
        assert f"prefix=team%2F{handle[:4]}%2F" in listing

    @nightly
    def test_a_page_from_this_host_makes_no_request_and_loads_no_client(
        self, inside, cloud, link, monkeypatch
    ):
        _, two = cloud
        handle = two.keep(inside)
        link.forget()
        for name, value in two.variables.items():
            monkeypatch.setenv(name, value)
        assert "obstore" not in modules_loaded_for("show", handle, "-n", "50", stdin=b"")
        assert "obstore" not in modules_loaded_for("-n", "50", stdin=b"short\n")
        assert link.requests == []


class TestSettings:
    @pytest.mark.parametrize("way", ["flag", "variable", as_nightly("config")])
    def test_the_store_comes_from_flag_variable_or_config_file(self, inside, hosts, way, tmp_path):
        one, two = hosts
        url = two.variables.pop("TOKCAP_STORE")
        handle = one.keep(inside)
        config = tmp_path / "config.toml"
        config.write_text(f'store = "{url if way == "config" else "file:///nowhere"}"\n')
        two.variables["TOKCAP_CONFIG"] = str(config)
        if way == "variable":
            two.variables["TOKCAP_STORE"] = url
        flags = ("--store", url) if way == "flag" else ()
        assert two.call(inside, "show", handle, *flags, "-n", "50").status == 0
        assert handle.encode() in two.call(inside, "spill", "list", "--shared", *flags).out
        if way != "flag":
            assert f"{url} can be read and written".encode() in two.call(inside, "doctor").out

    @nightly
    def test_the_profile_of_aws_is_used(self, inside, cloud, tmp_path):
        one, _ = cloud
        for name in variables(0):
            one.variables[name] = ""
        folder = tmp_path / "home" / ".aws"
        folder.mkdir()
        (folder / "credentials").write_text(
            "[default]\naws_access_key_id = x\n"
            f"[team]\naws_access_key_id = y\naws_secret_access_key = {SECRET}\n"
        )
        (folder / "config").write_text(
            f"[profile team]\nregion = eu-west-1\nendpoint_url = http://127.0.0.1:{s3_server().port}\n"
        )
        one.variables["AWS_PROFILE"] = "team"
        one.keep(inside)

    def test_doctor_says_what_a_store_cannot_do(self, inside, hosts, shared, monkeypatch):
        one, _ = hosts

        def careless(bucket, key, size, read):
            bucket.replace(key, size, read)
            return True

        monkeypatch.setattr(DirectoryBucket, "create", careless)
        found = one.call(inside, "doctor").out
        assert b"replaces an object that exists although it was told not to" in found
        os.rmdir(shared / ".check") if (shared / ".check").exists() else None
        os.rmdir(shared)
        assert f"{shared} does not exist".encode() in one.call(inside, "doctor").out
