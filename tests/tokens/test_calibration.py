"""`tokcap tokenizer calibrate`: a profile that is measured with the counts of a command."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from tests.support.program import ROOT
from tokcap.steps import calibrating

GUIDE = (ROOT / "docs" / "calibrating.md").read_text()
# Counts in quarters of characters, and adds three, as the frame of a message would.
COUNTER = f"{sys.executable} -c 'import sys; print(len(sys.stdin.read()) // 4 + 4)'"


@pytest.fixture
def files(tmp_path):
    """Twelve short texts."""
    texts = tmp_path / "texts"
    texts.mkdir()
    library = Path(sysconfig.get_path("stdlib"))
    for path in [path for path in sorted(library.glob("*.py")) if path.stat().st_size > 5000][:12]:
        (texts / path.name).write_text(path.read_text()[:4000])
    return sorted(map(str, texts.iterdir()))


def test_calibrate_stores_a_profile_with_its_error(inside, with_store, files):
    ran = inside("tokenizer", "calibrate", "mine", "--counter", COUNTER, "--texts", "12", *files)
    assert (ran.status, ran.err) == (0, b"")
    assert b" x o200k_base, off by about " in ran.out
    assert re.search(
        rb"; calibrated on 20..-..-.. with 12 texts of files; 3 subtracted from each count\n", ran.out
    )
    shown = inside("tokenizer", "show", "mine", "-o", "json").json["data"]
    assert shown["calibrated_here"] is True
    assert 0 < shown["mean_error_percent"] < 20
    text = "".join(Path(path).read_text() for path in files)
    counted = int(inside("--tokenizer", "mine", "--token-count", stdin=text.encode()).out)
    assert counted == pytest.approx(len(text) / 4, rel=0.01)
    again = inside("tokenizer", "calibrate", "mine", "--counter", COUNTER, "--texts", "12", *files)
    assert again.out == ran.out
    assert inside("tokenizer", "show", "mine", "-o", "json").json["data"] == shown
    assert inside("tokenizer", "remove", "mine").status == 0
    assert inside("--tokenizer", "mine", "--", "true").status == 125


@pytest.mark.parametrize(
    ("counter", "message"),
    [
        ("exit 3", b"the counter exited with status 3; nothing was stored"),
        ("echo no route >&2; exit 7", b"the counter exited with status 7: no route; nothing was stored"),
        ("echo many", b"the counter printed 'many' instead of a number"),
        ("cat > /dev/null; sleep 60", b"the counter did not answer within 0.3 s (--timeout)"),
        ("echo 0", b"the counter printed 0 for the text 'a'"),
        ("no-such-program-at-all", b"the counter exited with status 127"),
    ],
)
def test_a_counter_that_fails_is_reported_in_one_line(inside, with_store, files, counter, message):
    ran = inside("tokenizer", "calibrate", "mine", "--counter", counter, "--timeout", "300ms", *files)
    assert ran.status == 1
    assert message in ran.err
    assert ran.err.count(b"\n") == 1
    assert b"mine" not in inside("tokenizer", "list").out


def test_too_little_text_and_taken_names_are_refused(inside, with_store, tmp_path):
    ran = inside("tokenizer", "calibrate", "mine", "--counter", "echo 1")
    assert b"too little text" in ran.err
    assert b"is a tokenizer already" in inside("tokenizer", "calibrate", "approx", "--counter", "echo 1").err
    assert inside("tokenizer", "calibrate", "mine").status == 2
    assert inside("tokenizer", "calibrate", "../x", "--counter", "echo 1").status == 2


def test_a_profile_of_the_user_comes_before_a_shipped_one(inside, with_store, files):
    before = inside("--model", "claude-opus-4-7", "--token-count", stdin=b"some words " * 900).out
    inside("tokenizer", "calibrate", "claude", "--counter", COUNTER, "--texts", "8", *files)
    assert inside("--model", "claude-opus-4-7", "--token-count", stdin=b"some words " * 900).out != before
    inside("tokenizer", "remove", "claude")
    assert inside("--model", "claude-opus-4-7", "--token-count", stdin=b"some words " * 900).out == before


class Providers(http.server.BaseHTTPRequestHandler):
    """Answers like the count endpoints in the guide: a token for each word."""

    # Statuses that are answered before a count.
    failing: ClassVar[list[int]] = []

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.failing:
            self.send_response(self.failing.pop(0))
            self.send_header("location", self.path)
            data = b'{"type": "error", "error": {"type": "x", "message": "no\\u001b such model"}}'
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            return
        if self.path == "/v1/messages/count_tokens":
            assert self.headers["x-api-key"] == "secret"
            assert self.headers["anthropic-version"]
            answer = {"input_tokens": words(given["messages"][0]["content"]) + 7}
        elif self.path.endswith(":countTokens"):
            assert self.headers["x-goog-api-key"] == "secret"
            number = words(given["contents"][0]["parts"][0]["text"])
            answer = {
                "totalTokens": number,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": number}],
            }
        else:
            self.send_error(404)
            return
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def words(text: str) -> int:
    return len(text.split())


@pytest.fixture
def providers():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Providers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="curl and jq are needed")
def test_the_command_of_the_guide_counts_with_a_server_that_answers_so(providers, tmp_path):
    block = re.search(r"^`--counter COMMAND` .*?```sh\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)[1]
    path = tmp_path / "count-gemini"
    path.write_text(block)
    env = {**os.environ, "GEMINI_BASE_URL": providers, "GEMINI_API_KEY": "secret", "no_proxy": "*"}
    done = subprocess.run(
        ["sh", path], input=b'four "quoted" words\nhere \\n', env=env, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"5\n", b"")


def test_a_provider_counts_with_the_key_of_the_user(inside, with_store, files, providers, monkeypatch):
    monkeypatch.setattr(calibrating, "PAUSES_SECONDS", (0.0, 0.0))
    Providers.failing[:] = [429, 529]
    line = ("tokenizer", "calibrate", "claude", "--with", "anthropic", "--endpoint", providers, *files)
    ran = inside(*line, env={"ANTHROPIC_API_KEY": "secret"})
    assert (ran.status, ran.err, Providers.failing) == (0, b"", [])
    source = inside("tokenizer", "show", "claude", "-o", "json").json["data"]["source"]
    pattern = (
        r"calibrated on 20..-..-.. with \d+ texts of files, counted by claude-opus-4-7; 7 subtracted from .*"
    )
    assert re.fullmatch(pattern, source)
    words_in_files = sum(words(Path(path).read_text()) for path in files)
    text = "".join(Path(path).read_text() for path in files)
    counted = int(inside("--tokenizer", "claude", "--token-count", stdin=text.encode()).out)
    assert counted == pytest.approx(words_in_files, rel=0.02)


@pytest.mark.parametrize(
    ("words", "failing", "key", "message"),
    [
        ((), [404], "secret", b"the provider answered 404: no? such model; nothing was stored"),
        # The key is not sent where an answer points to.
        ((), [307], "secret", b"the provider answered 307"),
        ((), [500] * 9, "secret", b"the provider answered 500"),
        ((), [], "", b"set ANTHROPIC_API_KEY to your key"),
        (("--endpoint", "http://example.com"), [], "secret", b"does not begin with https://"),
        (("--endpoint", "file:///etc/passwd"), [], "secret", b"does not begin with https://"),
        (("--endpoint", "http://127.0.0.1:1"), [], "secret", b"the provider did not answer with a count: "),
        (("--endpoint", "nowhere"), [], "secret", b"does not begin with https://"),
    ],
)
def test_a_provider_that_fails_is_reported_in_one_line(
    inside, with_store, files, providers, monkeypatch, words, failing, key, message
):
    monkeypatch.setattr(calibrating, "PAUSES_SECONDS", (0.0, 0.0))
    Providers.failing[:] = failing
    env = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": providers}
    ran = inside("tokenizer", "calibrate", "claude", "--with", "anthropic", *words, *files, env=env)
    assert (ran.status, message in ran.err, ran.err.count(b"\n")) == (1, True, 1), ran.err
    assert b"secret" not in ran.err
    assert inside("tokenizer", "show", "claude", "-o", "json").json["data"]["calibrated_here"] is False
