"""The whole command line: any options, payload and fault, against the three promises and the contract."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support import corpus
from tests.support.program import ROOT, Ran, checked
from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.filters.clean import Cleaner

PAYLOADS = (
    b"",
    b"plain words\n",
    b"".join(b"%d green bottles\r\n" % n for n in range(300)),
    b"[" + b",".join(b'{"id":%d,"name":"n %d"}' % (n, n) for n in range(80)) + b"]\n",
    b"".join(b'{"id":%d,"tags":["a","b"]}\n' % n for n in range(90)),
    b"id,name\n" + b"".join(b'%d,"name, %d"\n' % (n, n) for n in range(90)),
    b"a\tb\n" + b"".join(b"%d\tx\n" % n for n in range(90)),
    b"one line without end " * 9000,
    b"\xff\xfe caf\xe9 \xe2\x82\n" * 60,
    b"\x1b[31mred\x1b[0m 10%\r20%\r30%\n" * 40,
    "漢字 🧑🏽‍🚀 e\u0301\n".encode() * 80,
    *corpus.TRICKY_JSON[:14],
    *corpus.TRICKY_TABLES,
)
COMPLAINTS = (b"", b"", b"error: no such thing\n", b"".join(b"warning %d of many\n" % n for n in range(400)))

# Where a line of tokcap's own stands among those of the command.
OWN = b"tokcap: "

# The faults, and what they are called for: the destination of standard output, or the place of the store.
WRITING = ("closed", "full", "reader gone")
STORING = ("data directory is a file", "data directory is a link")


@dataclass(frozen=True)
class Command:
    """What the command does in the end, and the status that tells of it."""

    ending: str
    status: int
    code: str | None = None
    signal: int | None = None


COMMANDS = (
    Command("", 0),
    Command("exit 1", 1, "COMMAND_FAILED"),
    Command("exit 120", 120, "COMMAND_FAILED"),
    Command("exit 255", 255, "COMMAND_FAILED"),
    Command("kill -9 $$", 137, "COMMAND_KILLED", 9),
    Command("kill -15 $$", 143, "COMMAND_KILLED", 15),
    Command("exec sleep 30", 124, "TIMEOUT"),
)


def least(output, switches):
    return 170 if output != "text" else 12 if "--token-count" in switches else 0


def options():
    """Options that no call is refused for."""
    choices = {
        "--tokenizer": ("cl100k_base", "o200k_base", "approx"),
        "--keep": ("head", "tail", "ends"),
        "--align": ("record", "token"),
        "--shape": ("auto", "text", "json", "jsonl", "csv"),
        "--mode": ("raw", "table", "summary", "handle_only"),
        "--sentinel": ("[CUT]", "", "✂"),
        "--spill": ("auto", "always", "never"),
        "--stderr": ("separate", "merge", "pass", "drop"),
        "--token-offset": ("0", "3", "99999"),
        "--max-bytes": ("1MiB",),
    }
    given = st.fixed_dictionaries(
        {}, optional={flag: st.sampled_from(values) for flag, values in choices.items()}
    )
    switches = st.sets(st.sampled_from(["--clean", "--exact-total", "--token-count"]), max_size=1)
    return st.builds(
        lambda pairs, limit, output, others: {
            **pairs,
            # The smallest envelope, and a count, need more than the smallest limit of a text.
            **({} if limit is None else {"--token-limit": str(limit + least(output, others))}),
            "--output": output,
            **dict.fromkeys(sorted(others), ""),
        },
        given,
        st.none() | st.sampled_from([1, 2, 5, 9, 12, 20, 33, 60, 150, 1000]),
        st.sampled_from(["text", "json", "jsonl"]),
        switches,
    )


@given(
    options=options(),
    payload=st.sampled_from(PAYLOADS),
    complaint=st.sampled_from(COMPLAINTS),
    command=st.sampled_from(COMMANDS[:-1]) | st.sampled_from(COMMANDS),
    fault=st.sampled_from(["", "", "", *WRITING, *STORING]),
)
@examples(25)
def test_a_command_keeps_every_promise(options, payload, complaint, command, fault):
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        (here / "out").write_bytes(payload)
        (here / "err").write_bytes(complaint)
        # One after the other, so that the order of both in one stream is known.
        script = f"cat out; cat err >&2; {command.ending}"
        timeout = ["--timeout", "0.4"] if command.code == "TIMEOUT" else []
        ran = called(here, [*words_of(options), *timeout, "--", "sh", "-c", script], fault)
        Held(here, options, payload, complaint, fault, ran).check(command)


@given(
    options=options(), payload=st.sampled_from(PAYLOADS), fault=st.sampled_from(["", "", *WRITING, *STORING])
)
@examples(12)
def test_standard_input_keeps_every_promise(options, payload, fault):
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        ran = called(here, words_of(options), fault, payload)
        Held(here, options, payload, b"", fault, ran).check(COMMANDS[0])


def words_of(options):
    return [
        word
        for flag, value in options.items()
        for word in ((flag, value) if value or flag == "--sentinel" else (flag,))
    ]


def called(here, args, fault, stdin=b""):
    """The program as a process of its own, in a world with a fault."""
    data = here / "data"
    if fault == "data directory is a file":
        data.write_bytes(b"")
    elif fault == "data directory is a link":
        (here / "elsewhere").mkdir()
        data.symlink_to(here / "elsewhere")
    call = [sys.executable, "-m", "tokcap", *args]
    with contextlib.ExitStack() as stack:
        stdout = subprocess.PIPE
        if fault == "closed":
            call = ["sh", "-c", 'exec "$@" >&-', "sh", *call]
        elif fault == "full":
            stdout = stack.enter_context(open("/dev/full", "wb"))
        elif fault == "reader gone":
            reader, stdout = os.pipe()
            os.close(reader)
            stack.callback(os.close, stdout)
        done = subprocess.run(
            call,
            input=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=here,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(here),
                "TOKCAP_DATA_DIR": str(data),
                "TMPDIR": str(here),
                "PYTHONPATH": str(ROOT),
            },
            timeout=120,
            check=False,
        )
    return checked(args, Ran(done.returncode, done.stdout or b"", done.stderr))


@dataclass(frozen=True)
class Held:
    """An answer held against what was promised."""

    here: Path
    options: dict[str, str]
    payload: bytes
    complaint: bytes
    fault: str
    ran: Ran

    def check(self, command):
        assert b"internal error" not in self.ran.err
        self.check_status(command)
        if self.fault not in WRITING:
            self.check_cap()
            self.check_truth(command)
            self.check_nothing_lost()

    @property
    def output(self):
        return self.options["--output"]

    @property
    def limit(self):
        return int(self.options.get("--token-limit", 0)) or None

    @property
    def stderr_mode(self):
        return self.options.get("--stderr", "separate")

    @property
    def full(self):
        """All of standard output, as it is counted, shown and stored."""
        merged = self.payload + (self.complaint if self.stderr_mode == "merge" else b"")
        if "--clean" not in self.options:
            return merged
        cleaner = Cleaner()
        return cleaner.feed(merged) + cleaner.flush()

    @property
    def shown(self):
        """What the reader pays for on standard output."""
        if self.output == "json":
            return self.ran.data_text
        if self.output == "jsonl":
            return b"".join(self.ran.out.splitlines(keepends=True)[:-1])
        return self.ran.out

    @property
    def shown_err(self):
        """What is there of the command's own stderr."""
        return b"".join(line for line in self.ran.err.splitlines(keepends=True) if not line.startswith(OWN))

    def count(self, data):
        name = self.options.get("--tokenizer", "cl100k_base")
        return (len(data.decode("utf-8", "replace")) + 3) // 4 if name == "approx" else recount(data, name)

    @property
    def meta(self):
        return {"json": lambda: self.ran.json, "jsonl": lambda: json.loads(self.ran.out.splitlines()[-1])}[
            self.output
        ]()["meta"]

    @property
    def warnings(self):
        if self.output == "text":
            return self.ran.err.decode()
        envelope = self.ran.json if self.output == "json" else json.loads(self.ran.out.splitlines()[-1])
        return json.dumps(envelope.get("warnings", [])) + self.ran.err.decode()

    def check_status(self, command):
        expected = {command.status}
        if self.fault in WRITING:
            own = 141 if self.fault == "reader gone" else 125
            # A command may end of the same fault, before it could end otherwise.
            expected |= {own} if not command.status or self.fault == "reader gone" else set()
            if not command.status and (self.output != "text" or "--token-count" in self.options):
                expected = {own}
        assert self.ran.status in expected, (self.ran.status, expected, self.ran.err)

    def check_cap(self):
        if self.limit:
            counted = self.count(self.ran.out)
            if self.stderr_mode == "separate":
                counted += self.count(self.shown_err)
            assert counted <= self.limit

    def check_truth(self, command):
        if "--token-count" in self.options:
            expected = self.count(self.full)
            assert (int(self.ran.out) if self.output == "text" else self.meta["token_count"]) == expected
        if self.output == "text":
            return
        meta = self.meta
        if "returned_tokens" in meta:
            assert meta["returned_tokens"] == self.count(self.shown)
        # Of a mode that is not raw, the whole is what that mode makes of the output.
        if "total_tokens" in meta and "mode" not in meta:
            assert meta["total_tokens"] == self.count(self.full)
        if self.output == "json":
            error = self.ran.json["error"]
            assert (error or {}).get("code") == command.code
        if command.signal:
            assert meta["signal"] == command.signal
        if command.code != "TIMEOUT" and "exit_code" in meta:
            assert meta["exit_code"] == command.status
            assert meta["exit_from"] == "command"

    def check_nothing_lost(self):
        """What is not shown is stored, whole; if it cannot be, that is said."""
        spill = self.options.get("--spill", "auto")
        is_shown = self.output == "text" and self.shown == self.full
        if self.stderr_mode == "separate":
            is_shown = is_shown and self.shown_err == self.complaint
        if self.output != "text":
            is_shown = not self.withheld()
        # Who asks for a count has no use for the output.
        is_shown = is_shown or "--token-count" in self.options
        if is_shown and spill != "always":
            return
        if spill == "never":
            assert not (self.here / "data" / "spill").exists()
        elif self.fault in STORING:
            assert "not stored" in self.warnings or not self.has_room_for_a_warning(is_shown)
        else:
            (place,) = (self.here / "data" / "spill").glob("??/[a-z]*")
            assert (place / "out").read_bytes() == self.full
            if self.stderr_mode == "separate" and self.complaint and "--clean" not in self.options:
                assert (place / "err").read_bytes() == self.complaint
            if self.output != "text" and not is_shown:
                assert self.meta["handle"] == place.name

    def has_room_for_a_warning(self, is_shown):
        """Whether the shortest warning fits: in half of a cut answer, or after one that is whole."""
        if self.output != "text" or not self.limit:
            return True
        shortest = self.count(b"\ntokcap: not stored\n")
        used = self.count(self.shown) + self.count(self.shown_err)
        return used + shortest <= self.limit if is_shown else shortest <= self.limit // 2

    def withheld(self):
        """Whether an envelope says that there is more."""
        meta = self.meta
        return bool(meta.get("truncated") or "token_count" in meta or "mode" in meta or "next_offset" in meta)
