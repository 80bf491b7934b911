"""`tokcap tokenizer calibrate`: a profile that is fitted to the counts of a command."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support import published
from tests.support.program import PACKAGE, ROOT
from tests.support.tiers import nightly
from tokcap.environment import Environment
from tokcap.tokens.calibration import CountedText, pieces_of, profile_of, save_profile

GUIDE = (ROOT / "docs" / "calibrating.md").read_text()
# Counts in quarters of characters, and adds three, as the frame of a message would.
COUNTER = f"{sys.executable} -c 'import sys; print(len(sys.stdin.read()) // 4 + 4)'"


def texts_by_kind() -> dict[str, str]:
    chance = random.Random(20)
    prose = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))[:6])
    return {
        "prose": prose,
        "code": "\n".join(path.read_text() for path in sorted((PACKAGE / "tokens").glob("*.py"))),
        "digits": "\n".join(map(str, range(10_000))),
        "hexadecimal": "\n".join(hashlib.sha256(b"%d" % number).hexdigest() for number in range(500)),
        "base64": re.sub("(.{76})", "\\1\n", base64.b64encode(chance.randbytes(24_000)).decode()),
        "blanks": "\n".join(" " * chance.randint(0, 60) + chance.choice("xyz") for _ in range(1200)),
        "json": "\n".join(
            json.dumps({"id": number, "name": f"item {number}", "tags": ["a", "b"], "price": number / 7})
            for number in range(400)
        ),
    }


@nightly
@published.needed
@pytest.mark.parametrize("name", ["qwen3", "llama3"])
def test_the_error_on_texts_that_were_held_out_is_small(name):
    closed = published.opened(name)
    texts = [
        CountedText(kind, part, closed.count(part))
        for kind, text in texts_by_kind().items()
        for part in pieces_of(text, 8)
    ]
    profile = profile_of("closed", texts, "a test")
    assert profile.held_out_texts >= len(texts) // 3
    assert profile.mean_error <= 30
    assert profile.most_error <= 100
    assert profile_of("closed", texts, "a test") == profile, "fitting is deterministic"


@nightly
@published.needed
def test_a_limit_by_a_fitted_profile_is_passed_by_no_more_than_it_states(inside, tmp_path):
    closed = published.opened("qwen3")
    kinds = texts_by_kind()
    texts = [
        CountedText(kind, part, closed.count(part))
        for kind, text in kinds.items()
        for part in pieces_of(text, 8)
    ]
    data = tmp_path / "data"
    profile = profile_of("closed", texts, "a test")
    save_profile(profile, Environment({"TOKCAP_DATA_DIR": str(data)}))
    for text in kinds.values():
        ran = inside(
            *("--tokenizer", "closed", "-n", "1000", "--spill", "never"),
            stdin=text.encode(),
            env={"TOKCAP_DATA_DIR": str(data)},
        )
        assert closed.count(ran.out.decode()) <= 1000 + profile.most_above


@pytest.fixture
def files(tmp_path):
    """Twelve short texts."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for path in sorted((PACKAGE / "tokens").glob("*.py"))[1:13]:
        (texts / path.name).write_text(path.read_text()[:4000])
    return sorted(map(str, texts.iterdir()))


def test_calibrate_stores_a_profile_with_its_error(inside, with_store, files):
    ran = inside("tokenizer", "calibrate", "mine", "--counter", COUNTER, "--texts", "12", *files)
    assert (ran.status, ran.err) == (0, b"")
    assert b"mine: calibrated with 12 texts" in ran.out
    assert b"3 subtracted from each count; error mean " in ran.out
    shown = inside("tokenizer", "show", "mine", "-o", "json").json["data"]
    assert shown["calibrated_here"] is True
    assert shown["fitted_texts"] + shown["held_out_texts"] == 12
    assert shown["held_out_texts"] >= 4
    text = Path(files[0]).read_text()
    counted = int(inside("--tokenizer", "mine", "--token-count", stdin=text.encode()).out)
    assert counted == pytest.approx(len(text) / 4, rel=0.25)
    again = inside("tokenizer", "calibrate", "mine", "--counter", COUNTER, "--texts", "12", *files)
    assert again.out == ran.out
    assert inside("tokenizer", "show", "mine", "-o", "json").json["data"] == shown
    assert inside("tokenizer", "remove", "mine").status == 0
    assert inside("--tokenizer", "mine", "--", "true").status == 125


def test_stored_outputs_are_used_if_no_file_is_named(inside, with_store):
    for number in range(8):
        inside("--spill", "always", "-n", "9", stdin=b"some words of output %d\n" % number * 400)
    ran = inside("tokenizer", "calibrate", "mine", "--counter", COUNTER, "--texts", "8")
    assert b"8 texts of " in ran.out
    assert b"stored output" in ran.out


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
        elif self.path == "/tokenize":
            answer = {"tokens": [1] * words(given["content"])}
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
@pytest.mark.parametrize(("script", "extra"), [("count-claude", 7), ("count-gemini", 0), ("count-llama", 0)])
def test_the_commands_of_the_guide_count_with_servers_that_answer_so(providers, tmp_path, script, extra):
    block = re.search(rf"^`{script}` .*?```sh\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)[1]
    path = tmp_path / script
    path.write_text(block)
    bases = dict.fromkeys(("ANTHROPIC_BASE_URL", "GEMINI_BASE_URL", "LLAMA_BASE_URL"), providers)
    env = {**os.environ, **bases, "ANTHROPIC_API_KEY": "secret", "GEMINI_API_KEY": "secret", "no_proxy": "*"}
    done = subprocess.run(
        ["sh", path], input=b'four "quoted" words\nhere \\n', env=env, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"%d\n" % (5 + extra), b"")
