"""`--redact`: anything that looks like a secret is neither shown nor stored."""

import pytest

pytestmark = pytest.mark.usefixtures("with_store")

TOKEN = "ghp_" + "A1b2" * 9
PASSWORD = "correct" + "horse7"


def everything_below(data) -> bytes:
    return b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())


def test_secrets_are_masked_in_both_streams_and_counted(inside, with_store):
    script = f"echo token {TOKEN}; echo password={PASSWORD} >&2; seq 1 3000; exit 5"
    ran = inside("--redact", "-n", "500", "-o", "json", "--", "sh", "-c", script)
    assert ran.status == 5
    for secret in (TOKEN, PASSWORD):
        assert secret.encode() not in ran.out + ran.err + everything_below(with_store)
    assert ran.json["data"][0].startswith("token ghp_[REDACTED]\n1\n2\n")
    (warning,) = ran.json["warnings"]
    assert warning["code"] == "SECRETS_MASKED"
    assert warning["message"].startswith("masked 2 secrets: ")
    assert "REDACTED" in ran.json["error"]["detail"]
    assert inside("show", "@last", "--stream", "err").out == b"password=[REDACTED]\n"


def test_arguments_are_masked_in_the_record(inside, with_store):
    inside("--redact", "-n", "50", "--", "sh", "-c", "seq 1 3000", "x", "--password", PASSWORD)
    assert PASSWORD.encode() not in everything_below(with_store)
    assert b"[REDACTED]" in inside("spill", "list", "-o", "json").out
