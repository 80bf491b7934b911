"""`tokcap count FILE...`: a line per file and a total, like `wc`."""

import itertools
import os
import random
import re
import subprocess
import sys

import pytest

from tests.support.reference import ENCODINGS, recount, reference

WORDS = "one two three\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Three files in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(WORDS)
    (tmp_path / "b c.md").write_text(WORDS * 500)
    (tmp_path / "empty").write_text("")
    return tmp_path


def test_each_file_has_a_line_and_the_last_line_is_the_total(inside, files):
    ran = inside("count", "a.txt", "b c.md", "empty")
    one, many = recount(WORDS.encode()), recount(WORDS.encode() * 500)
    width = len(str(one + many))
    assert ran.out.decode() == (
        f"{one:>{width}} a.txt\n{many:>{width}} b c.md\n{0:>{width}} empty\n{one + many:>{width}} total\n"
    )
    assert (ran.status, ran.err) == (0, b"")


def test_no_file_and_a_dash_mean_standard_input(inside, files):
    tokens = recount(WORDS.encode())
    assert inside("count", stdin=WORDS.encode()).out == b"%d\n" % tokens
    assert inside("count", "-", stdin=WORDS.encode()).out == b"%d -\n" % tokens
    both = inside("count", "a.txt", "-", stdin=WORDS.encode()).out
    assert both == b"%d a.txt\n%d -\n%d total\n" % (tokens, tokens, 2 * tokens)


def test_a_pipe_is_counted_as_it_comes(files):
    data = os.urandom(300_000) + WORDS.encode() * 50_000
    done = subprocess.run(
        [sys.executable, "-m", "tokcap", "count"], input=data, capture_output=True, check=True, timeout=120
    )
    assert int(done.stdout) == recount(data)


def test_what_cannot_be_read_is_one_line_and_the_others_are_counted(inside, files):
    ran = inside("count", "missing", "a.txt")
    assert ran.status == 1
    assert ran.err == b"tokcap: count: missing: No such file or directory\n"
    tokens = recount(WORDS.encode())
    assert ran.out == b"%d a.txt\n%d total\n" % (tokens, tokens)


def test_the_envelope_has_a_record_per_file_and_the_total_in_meta(inside, files):
    ran = inside("count", "-o", "json", "a.txt", "missing", "b c.md")
    one, many = recount(WORDS.encode()), recount(WORDS.encode() * 500)
    assert ran.json["data"] == [
        {"path": "a.txt", "tokens": one, "bytes": 14},
        {"path": "missing", "error": "No such file or directory"},
        {"path": "b c.md", "tokens": many, "bytes": 7000},
    ]
    assert ran.json["error"]["code"] == "NOT_FOUND"
    assert ran.json["meta"]["token_count"] == one + many
    assert ran.json["meta"]["tokenizer"] == "cl100k_base"
    assert (ran.status, ran.json["ok"], ran.err) == (1, False, b"")


def test_json_lines_have_a_line_per_file_and_the_last_line_is_meta(inside, files):
    lines = inside("count", "--output", "jsonl", "a.txt", "empty").out.splitlines()
    assert lines[0] == b'{"path":"a.txt","tokens":%d,"bytes":14}' % recount(WORDS.encode())
    assert lines[1] == b'{"path":"empty","tokens":0,"bytes":0}'
    assert lines[2].startswith(b'{"meta":')
    assert len(lines) == 3


@pytest.mark.parametrize("name", [*ENCODINGS, "approx"])
def test_the_tokenizer_is_that_of_the_flag_the_model_the_variable_or_the_config(inside, files, name):
    text = WORDS * 500
    tokens = -(-len(text) // 4) if name == "approx" else len(reference(name).encode_ordinary(text))
    expected = b"%d b c.md\n" % tokens
    assert inside("count", "--tokenizer", name, "b c.md").out == expected
    assert inside("count", "b c.md", env={"TOKCAP_TOKENIZER": name}).out == expected
    if name == "o200k_base":
        assert inside("count", "--model", "gpt-4o", "b c.md").out.startswith(expected)


def test_an_unknown_tokenizer_is_refused_before_anything_is_read(inside, files):
    ran = inside("count", "--tokenizer", "nope", "missing")
    assert ran.status != 0
    assert b"'nope' is not a known tokenizer" in ran.err
    assert b"missing" not in ran.err


def test_bytes_that_are_not_utf8_are_counted_as_their_replacement(inside, files):
    data = random.Random(1).randbytes(5000)
    (files / "raw").write_bytes(data)
    assert inside("count", "-o", "json", "raw").json["data"] == [
        {"path": "raw", "tokens": recount(data), "bytes": 5000, "binary": True}
    ]


def test_a_large_file_is_counted_in_bounded_memory_on_all_cores(files):
    part = (WORDS * 100_000).encode()
    with open(files / "large", "wb") as file:
        file.writelines([part] * 30)
    line = ["prlimit", f"--data={250 << 20}", sys.executable, "-m", "tokcap", "count", "large"]
    done = subprocess.run(line, capture_output=True, check=True, timeout=600)
    assert done.stdout == b"%d large\n" % (recount(part) * 30)


def test_a_file_without_a_size_is_read_to_its_end(inside):
    with open("/proc/self/limits", "rb") as file:
        assert int(inside("count", "/proc/self/limits").out.split()[0]) == recount(file.read())


def test_a_name_with_control_characters_does_not_reach_the_terminal(inside, files):
    (files / "x\x1b[31m\n").write_text(WORDS)
    ran = inside("count", "x\x1b[31m\n", "y\x1b\n")
    assert b"\x1b" not in ran.out + ran.err
    assert len(ran.out.splitlines()) == 2


def test_nothing_is_stored_charged_or_noted(inside, files, with_store):
    inside("budget", "start", "work", "--total", "1000")
    assert inside("count", "b c.md", env={"TOKCAP_SESSION": "work"}).status == 0
    assert inside("budget", "status", "work", "-o", "json").json["data"]["used"] == 0
    assert inside("spill", "list").out == b"nothing is stored\n"


def test_two_dashes_make_count_a_command_and_an_option_of_it_is_refused(tokcap, files):
    assert tokcap("--", "count", "a.txt").status == 127
    ran = tokcap("count", "--nope")
    assert (ran.status, ran.err.count(b"\n")) == (2, 1)


def test_a_model_whose_tokenizer_is_not_published_is_named_in_a_warning(inside, files):
    ran = inside("count", "--model", "claude", "b c.md")
    assert b"warning: claude is a profile, so this count is an estimate" in ran.err
    envelope = inside("count", "--model", "claude", "-o", "json", "b c.md").json
    assert [warning["code"] for warning in envelope["warnings"]] == ["TOKENS_ESTIMATED"]
    assert envelope["meta"]["tokenizer_exact"] is False
    published = inside("count", "--model", "gpt-4o", "-o", "json", "b c.md").json
    assert published["meta"]["tokenizer_exact"] is True
    assert inside("count", "b c.md").err == b""


def of_tree(printed: bytes) -> list[tuple[str, int | None]]:
    """The paths that a tree shows, each with its tokens."""
    found, above = [], []
    for line in printed.decode().splitlines():
        tokens, indent, name = re.fullmatch(r" *(\d+|-) ((?:  )*)(\S.*?)(?: \(binary\))?", line).groups()
        above[len(indent) // 2 :] = [name]
        found.append(("".join(above), None if tokens == "-" else int(tokens)))
    return found


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q", "."], check=True)
    texts = {
        ".gitignore": "*.log\n/build/\n!keep.log\ndocs/*.tmp\n",
        "a.txt": WORDS, "keep.log": WORDS * 2, "x.log": WORDS, "build/out": WORDS, "docs/build/in": WORDS * 3,
        "docs/x.tmp": WORDS, "docs/.gitignore": "!y.tmp\nsecret/\n# no\n\\#yes\n", "docs/y.tmp": WORDS * 4,
        "docs/secret/a": WORDS, "docs/#yes": WORDS, "docs/ü b": WORDS * 5, "deep/" + "d/" * 60 + "end": WORDS,
        ".git/info/exclude": "excluded\n", "docs/excluded": WORDS,
    }  # fmt: skip
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "image.png").write_bytes(b"\x89PNG\0\0" + b"x" * 9000)
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


class TestADirectory:
    def test_has_the_files_that_git_would_not_ignore(self, inside, repository):
        listed = subprocess.run(
            ["git", "-c", "core.quotePath=false", "ls-files", "-co", "--exclude-standard"],
            capture_output=True, check=True, text=True,
        )  # fmt: skip
        shown = [name for name, _ in of_tree(inside("count", ".").out) if not name.endswith("/")]
        assert {f"./{name}" for name in listed.stdout.splitlines()} - {"./link", "./loop"} == {*shown}

    def test_every_sum_is_that_of_its_parts_and_the_largest_part_is_first(self, inside, repository):
        found = of_tree(inside("count", ".").out)
        sizes = dict(found)
        for name, tokens in found:
            below = [
                each
                for each in sizes
                if each.startswith(name) and each.rstrip("/").count("/") == name.count("/")
            ]
            if name.endswith("/") and below:
                parts = [sizes[each] or 0 for each in below]
                assert (tokens, parts) == (sum(parts), sorted(parts, reverse=True))
            elif tokens is not None:
                assert tokens == recount((repository / name).read_bytes())
        assert sizes["./image.png"] is None

    def test_starts_anywhere_in_a_repository_also_in_what_is_ignored(self, inside, repository):
        assert {name for name, _ in of_tree(inside("count", "docs").out)} == {
            "docs/", "docs/build/", "docs/build/in", "docs/.gitignore", "docs/y.tmp", "docs/ü b",
        }  # fmt: skip
        assert of_tree(inside("count", "build/").out)[1][0] == "build/out"

    def test_is_the_same_on_all_cores(self, inside, repository):
        for number in range(300):
            (repository / f"n{number}").write_text(WORDS * 900)
        found = dict(of_tree(inside("count", ".").out))
        assert all(found[f"./n{number}"] == recount(WORDS.encode() * 900) for number in range(300))
        shown = inside("count", ".", "a.txt", "--top", "2")
        total = found["./"] + found["./a.txt"]
        assert shown.out.decode().split() == [
            *itertools.chain(*((str(found[name]), name) for name in ("./n0", "./n1"))), str(total), "total",
        ]  # fmt: skip

    def test_says_whether_it_fits_into_a_context_window(self, inside, repository):
        total = of_tree(inside("count", ".").out)[0][1]
        for window, words in ((total, b"fits: "), (total - 1, b"does not fit: ")):
            ran = inside("count", ".", "--context-window", str(window))
            assert ran.out.splitlines()[-1].startswith(words + b"%d of %d tokens" % (total, window))
            last = inside("count", ".", "--context-window", str(window), "-o", "json").json["data"][-1]
            assert last == {"tokens": total, "context_window": window, "fits": window == total}
        assert (
            inside("count", ".", "--model", "gpt-4o").out.splitlines()[-1].endswith(b"of 128000 tokens, 0 %")
        )

    def test_is_records_in_json(self, inside, repository):
        data = inside("count", ".", "-o", "json").json["data"]
        root = next(one for one in data if one["path"] == ".")
        files = [one for one in data if "files" not in one]
        assert root["files"] == sum("tokens" in one for one in files)
        assert root["bytes"] == sum(one.get("bytes", 0) for one in files)
        assert {"path": "./image.png", "binary": True} in data

    def test_names_what_cannot_be_read(self, inside, repository, monkeypatch):
        scan = os.scandir

        def refusing(path):
            if path == "./docs":
                raise PermissionError(13, "Permission denied")
            return scan(path)

        monkeypatch.setattr(os, "scandir", refusing)
        ran = inside("count", ".")
        assert (ran.status, ran.err) == (1, b"tokcap: count: ./docs: Permission denied\n")
        assert "./docs" not in dict(of_tree(ran.out))
