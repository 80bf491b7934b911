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

import pytest

from tests.support.program import ROOT

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
    assert b"; calibrated with 12 texts of files; 3 subtracted from each count\n" in ran.out
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

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
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
@pytest.mark.parametrize(("script", "extra"), [("count-claude", 7), ("count-gemini", 0)])
def test_the_commands_of_the_guide_count_with_servers_that_answer_so(providers, tmp_path, script, extra):
    block = re.search(rf"^`{script}` .*?```sh\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)[1]
    path = tmp_path / script
    path.write_text(block)
    bases = dict.fromkeys(("ANTHROPIC_BASE_URL", "GEMINI_BASE_URL"), providers)
    env = {**os.environ, **bases, "ANTHROPIC_API_KEY": "secret", "GEMINI_API_KEY": "secret", "no_proxy": "*"}
    done = subprocess.run(
        ["sh", path], input=b'four "quoted" words\nhere \\n', env=env, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"%d\n" % (5 + extra), b"")
