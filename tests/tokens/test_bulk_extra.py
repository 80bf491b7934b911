"""The extra `bulk` changes no count: gigatoken gets only characters of a known class.

The everyday tests use a stand-in for gigatoken, because the real one takes much memory.
"""

import functools
import importlib.util
import os
import random
import subprocess
import sys
import sysconfig
import types
import unicodedata
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS, payload_of
from tests.support.program import ROOT
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import ANYTHING, EMOJI, LONG_RUNS, code_points
from tests.support.tiers import examples, nightly
from tokcap.doctor import packages
from tokcap.tokens import character_classes, chunks, count_bytes, gigatoken_counter, index, parallel
from tokcap.tokens.index import Index

needs_gigatoken = pytest.mark.skipif(
    importlib.util.find_spec("gigatoken") is None,
    reason="the package gigatoken is not installed: pip install '.[nightly]'",
)


@functools.cache
def gigatoken_of(name):
    """gigatoken without the guard."""
    return gigatoken_counter.Gigatoken(name)._start()


@functools.cache
def counter_of(name):
    """One counter for all examples, as in one process, so that what it remembers is tested too."""
    return gigatoken_counter.GigatokenCounter(TOKENIZERS[name])


def is_certain(text):
    return gigatoken_counter.KnownCharacters().are_all_of(text)


def assigned(character):
    return unicodedata.category(character) not in ("Cn", "Cs")


def counted(data, name, *, extra=True):
    """All checkpoints of a payload, as if it were large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "PARALLEL_PART_BYTES", 1)
        patch.setattr(parallel, "available_cores", lambda: 1)
        if not extra:
            patch.setattr(gigatoken_counter, "counter_for", lambda _tokenizer: None)
        found = Index(payload_of(data), TOKENIZERS[name])
        found.count_all()
    return found.checkpoints


def assert_the_same_with_and_without(data, name):
    with_it, without = counted(data, name), counted(data, name, extra=False)
    assert (with_it.tokens, with_it.bytes) == (without.tokens, without.bytes)
    assert (with_it.complete, with_it.valid_utf8) == (without.complete, without.valid_utf8)


# Puts a character next to letters of both cases, digits, blanks, newlines, signs, marks and itself.
SURROUNDINGS = "a{0}A{0}b'{0}s {0}\n{0}1{0}/\r\n{0}\u0301{0}  {0}{0}'s'l{0}\u3000{0}é{0}É/{0}\n"
# Most characters are ideographs, syllables or for private use, and behave alike: this is enough for them.
FEW_SURROUNDINGS = "a{0}A'{0}s {0}\n1{0}/{0}{0}'s"


def in_surroundings(character):
    many_alike = "\u3400" <= character < "\ufb00" or character >= "\U00020000"
    return (FEW_SURROUNDINGS if many_alike else SURROUNDINGS).format(character)


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_code_point_that_is_let_through_has_the_tokens_of_tiktoken(name):
    guard = gigatoken_counter.KnownCharacters()
    # After the second plane there are ideographs, private use, or nothing: a sample is enough.
    points = [*range(0x20000), *range(0x20000, 0x110000, 0x101)]
    passed = [chr(point) for point in points if not 0xD800 <= point < 0xE000 and guard.are_all_of(chr(point))]
    assert len(passed) > 85_000
    for start in range(0, len(passed), 256):
        text = "".join(map(in_surroundings, passed[start : start + 256]))
        assert gigatoken_of(name)(text).tolist() == reference(name).encode_ordinary(text), ascii(text[:5])


def test_exactly_the_characters_that_this_python_knows_are_let_through():
    guard = gigatoken_counter.KnownCharacters()
    for point in code_points():
        assert guard.are_all_of(chr(point)) == assigned(chr(point)), hex(point)


def test_what_a_newer_python_knows_is_let_through_only_if_it_is_old(monkeypatch):
    monkeypatch.setattr(character_classes, "NEWEST_UNICODE", (3, 2))
    monkeypatch.setattr(character_classes, "CLASSES", character_classes.Classes(character_classes.SPECIAL))
    assert is_certain("Straße, 漢字, \u3000")
    assert not is_certain("\U0001f600")


def test_one_doubtful_character_among_many_is_found():
    guard = gigatoken_counter.KnownCharacters()
    for text in ("é漢\u3000\x1b\n", "é漢\u3000\x1b\n"):
        assert guard.are_all_of(text)
        assert not guard.are_all_of(f"{text}\u0378{text}")


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
@examples(30)
@given(text=ANYTHING)
@example(text="")
@example(text="<|endoftext|><|im_start|>")
@example(text="\u088f's \U00016ea0's \U000323b0's")
def test_any_text_counts_as_tiktoken_counts_it(name, text):
    expected = reference(name).encode_ordinary(text)
    assert counter_of(name).count(text) == len(expected)
    if is_certain(text):
        assert gigatoken_of(name)(text).tolist() == expected


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
@examples(10)
@given(parts=st.lists(st.one_of(ANYTHING.map(str.encode), st.binary(max_size=30)), max_size=8))
def test_any_bytes_have_the_checkpoints_that_they_have_without_it(name, parts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "FIRST_CHUNK_BYTES", 8)
        patch.setattr(chunks, "CHUNK_BYTES", 16)
        # Loaded once, not for each example.
        patch.setattr(gigatoken_counter, "counter_for", lambda _tokenizer: bulk_counter(name))
        assert_the_same_with_and_without(b"".join(parts) * 2, name)


def bulk_counter(name):
    fresh = gigatoken_counter.GigatokenCounter(TOKENIZERS[name])
    fresh._gigatoken = counter_of(name)._gigatoken
    return fresh


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
def test_sources_of_this_python_have_the_tokens_of_tiktoken(name):
    library = Path(sysconfig.get_path("stdlib"))
    sources = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    assert len(sources) > 500
    for source in sources[::8]:
        text = source.read_bytes().decode("utf-8", "replace")
        expected = reference(name).encode_ordinary(text)
        assert counter_of(name).count(text) == len(expected), source
        assert not is_certain(text) or gigatoken_of(name)(text).tolist() == expected, source


DICE = random.Random(7)
PAYLOADS = {
    "emoji": "".join(DICE.choices(EMOJI, k=20_000)).encode(),
    "special tokens": b"<|endoftext|> <|fim_prefix|>a<|im_end|>\n" * 2_000,
    "crlf": b"a line, \r\n\r\n another  \r\n\tand one's more\r" * 3_000,
    "unassigned": "words and words, \u088f's \U00016ea0's\n".encode() * 3_000,
    "unassigned here and there": ("words and words\n" * 3_000 + "\u088f's\n").encode() * 4,
    "invalid": b"some words \xff\xfe\xe2\x82 and more\n" * 3_000,
    "random": DICE.randbytes(200_000),
    **{run: text.encode() for run, text in LONG_RUNS.items()},
}


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("kind", PAYLOADS)
def test_a_payload_has_the_checkpoints_that_it_has_without_it(name, kind, monkeypatch):
    monkeypatch.setattr(gigatoken_counter, "counter_for", lambda _tokenizer: bulk_counter(name))
    assert_the_same_with_and_without(PAYLOADS[kind], name)


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
def test_what_is_certain_does_not_need_tiktoken(name, monkeypatch):
    def ask(_self, _text):
        raise AssertionError("tiktoken was asked")

    monkeypatch.setattr("tokcap.tokens.embedded.EmbeddedTokenizer.count", ask)
    text = "Größe: 漢字 👩‍👩‍👧 \x1b[31m\r\n" * 5_000
    assert counted(text.encode(), name).tokens[-1] == len(reference(name).encode_ordinary(text))


class PanicException(BaseException):
    """Named like the exception that pyo3 raises."""


class Fake:
    """A fake gigatoken that counts characters, or fails."""

    fails_at_building: BaseException | None = None
    fails_at_text: dict[int, BaseException]

    def __init__(self):
        self.texts = 0

    @classmethod
    def from_tiktoken(cls, path, scheme, special):
        assert os.path.getsize(path) > 1_000_000
        assert scheme in ("cl100k", "o200k")
        assert special == {}
        if cls.fails_at_building:
            raise cls.fails_at_building
        return cls()

    def encode(self, text):
        self.texts += 1
        if error := self.fails_at_text.get(self.texts):
            raise error
        return text


@pytest.fixture
def fake(monkeypatch):
    """Installs a new fake class in place of gigatoken."""
    found = type("Fake", (Fake,), {"fails_at_text": {}})
    package, library = types.ModuleType("gigatoken"), types.ModuleType("gigatoken.gigatoken_rs")
    library.BPETokenizer = found
    monkeypatch.setitem(sys.modules, "gigatoken", package)
    monkeypatch.setitem(sys.modules, "gigatoken.gigatoken_rs", library)
    # It comes with gigatoken.
    monkeypatch.setitem(sys.modules, "numpy", types.ModuleType("numpy"))
    return found


WORDS = b"some words again\n" * 20_000
EXACT = 4 * 20_000


def test_it_is_used_by_itself_where_it_is_installed(fake):
    assert counted(WORDS, "cl100k_base").tokens[-1] == len(WORDS)


@pytest.mark.parametrize("error", [ValueError("bad table"), PanicException("a panic"), MemoryError()])
def test_if_it_cannot_be_built_tiktoken_counts_in_silence(fake, error, capfd):
    fake.fails_at_building = error
    assert counted(WORDS, "cl100k_base").tokens[-1] == EXACT
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("error", [ImportError("no such library"), OSError("damaged")])
def test_if_it_cannot_be_loaded_tiktoken_counts_in_silence(error, monkeypatch, capfd):
    class Broken:
        def find_spec(self, name, _path=None, _target=None):
            if name.partition(".")[0] == "gigatoken":
                raise error

    for name in [name for name in sys.modules if name.partition(".")[0] == "gigatoken"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    assert counted(WORDS, "o200k_base").tokens[-1] == EXACT
    assert capfd.readouterr() == ("", "")


def test_if_it_fails_on_a_text_tiktoken_counts_that_and_all_that_follows(fake):
    # The first text is the empty one that loads it, the second is the first chunk.
    fake.fails_at_text[3] = PanicException("a panic")
    found = counted(WORDS, "cl100k_base")
    first = found.bytes[1]
    assert found.tokens[1] == first
    assert found.tokens[-1] == first + (len(WORDS) - first) * 4 // 17


def test_an_interrupt_is_no_failure_of_it(fake):
    fake.fails_at_text[2] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        counted(WORDS, "cl100k_base")


def test_where_much_is_in_doubt_the_rest_is_divided_among_processes(fake, monkeypatch):
    monkeypatch.setattr(gigatoken_counter, "MOST_DECLINED_CHARACTERS", 50_000)
    monkeypatch.setattr(index, "PARALLEL_PART_BYTES", 20_000)
    monkeypatch.setattr(parallel, "available_cores", lambda: 3)
    monkeypatch.setattr(parallel, "may_fork", lambda: True)
    divided = []
    in_parallel = parallel.count_in_parallel

    def record(parts, count):
        divided.extend(parts)
        return in_parallel(parts, count)

    monkeypatch.setattr(parallel, "count_in_parallel", record)
    doubtful = "some words again \u0378\n".encode() * 10_000
    found = Index(payload_of(doubtful), TOKENIZERS["cl100k_base"])
    assert found.total_tokens == count_bytes(doubtful, TOKENIZERS["cl100k_base"])
    assert len(divided) == 3
    assert 50_000 < divided[0][0] < 80_000


def growing(step):
    """Memory that grows each time it is read."""
    held = iter(range(0, 1 << 60, step))
    return lambda: next(held)


def test_if_it_remembers_too_much_of_little_text_it_is_given_up(fake, monkeypatch):
    monkeypatch.setattr(gigatoken_counter, "resident_bytes", growing(gigatoken_counter.MOST_GROWTH_BYTES))
    monkeypatch.setattr(gigatoken_counter, "CHECK_MEMORY_EVERY_CHARACTERS", 100_000)
    counter = gigatoken_counter.counter_for(TOKENIZERS["cl100k_base"])
    text = WORDS[:17_000].decode()
    assert [counter.count(text) for _ in range(6)] == [17_000] * 5 + [4_000]
    assert not counter.is_worthwhile


def test_if_it_remembers_too_much_of_much_text_it_starts_afresh(fake, monkeypatch):
    monkeypatch.setattr(gigatoken_counter, "resident_bytes", growing(gigatoken_counter.MOST_GROWTH_BYTES))
    monkeypatch.setattr(gigatoken_counter, "CHECK_MEMORY_EVERY_CHARACTERS", 100_000)
    monkeypatch.setattr(gigatoken_counter, "WORTH_RESTARTING_CHARACTERS", 50_000)
    built = []
    monkeypatch.setattr(fake, "__init__", lambda self: (built.append(self), setattr(self, "texts", 0))[0])
    counter = gigatoken_counter.counter_for(TOKENIZERS["cl100k_base"])
    text = WORDS[:17_000].decode()
    assert [counter.count(text) for _ in range(13)] == [17_000] * 13
    assert counter.is_worthwhile
    assert len(built) == 3


def test_the_memory_of_this_process_is_told_in_bytes():
    assert 5 << 20 < gigatoken_counter.resident_bytes() < 64 << 30


# A replacement for gigatoken that leaves a trace when it is imported.
TRACE = "import os\nopen(os.environ['TRACE'], 'w').close()\nraise ImportError('only traced')\n"


@pytest.fixture
def traced(tmp_path):
    """Calls tokcap; returns what it wrote, and whether it tried to import gigatoken."""
    (tmp_path / "gigatoken").mkdir()
    (tmp_path / "gigatoken" / "__init__.py").write_text(TRACE)
    trace = tmp_path / "trace"

    def call(data, *args):
        done = subprocess.run(
            [sys.executable, "-m", "tokcap", *args],
            input=data,
            capture_output=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}", "TRACE": str(trace)},
            check=True,
        )
        assert done.stderr == b""
        return done.stdout, trace.exists()

    return call


def test_small_outputs_and_windows_never_load_it(traced):
    million = b"some words again\n" * 60_000
    assert traced(b"hi\n", "-n", "50") == (b"hi\n", False)
    assert traced(million, "--token-count") == (b"240000\n", False)
    out, loaded = traced(million * 12, "-n", "50")
    assert out.startswith(b"some words")
    assert not loaded


def test_a_large_count_reaches_for_it_and_does_without(traced):
    assert traced(b"some words again\n" * 600_000, "--token-count") == (b"2400000\n", True)


@nightly
@needs_gigatoken
@pytest.mark.parametrize("name", ENCODINGS)
def test_a_large_count_by_a_process_is_exact(name, tmp_path):
    text = "".join(f"{number} words, größer als {number % 97}\r\n" for number in range(300_000))
    assert len(text.encode()) > 2 * index.PARALLEL_PART_BYTES
    done = subprocess.run(
        [sys.executable, "-m", "tokcap", "--token-count", "--tokenizer", name],
        input=text.encode(),
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert (int(done.stdout), done.stderr) == (len(reference(name).encode_ordinary(text)), b"")


@pytest.mark.parametrize(
    ("version", "module", "status", "said"),
    [
        ("0.10.0", types, "ok", "for large counts: gigatoken 0.10.0"),
        ("0.10.0", None, "note", "gigatoken cannot be loaded: "),
        ("0.9", types, "note", "gigatoken 0.9 is too old: 0.10 is needed"),
        ("", types, "ok", "gigatoken is not installed; to install it: "),
    ],
)
def test_the_doctor_tells_whether_it_is_there_and_serves(version, module, status, said, monkeypatch):
    def installed(name):
        if not version:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(metadata, "version", installed)
    monkeypatch.setitem(sys.modules, "gigatoken", module)
    found = packages.check_extra("bulk", [packages.requirement_of("gigatoken>=0.10; extra == 'bulk'")])
    assert (found.name, found.status) == ("bulk", status)
    assert said in found.message
