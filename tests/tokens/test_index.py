"""An index maps token positions to byte positions exactly, at any place of a payload."""

import os
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.payloads import TOKENIZERS, payload_of
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import AWKWARD
from tests.support.tiers import as_nightly, examples
from tokcap.core.mark import words_of
from tokcap.core.spool import Spool, in_memory
from tokcap.system import threads
from tokcap.tokens import chunks, count_bytes, gigatoken_counter, index, open_tokenizer, parallel
from tokcap.tokens import index as index_module
from tokcap.tokens.checkpoints import Checkpoints
from tokcap.tokens.index import Index


@pytest.fixture
def without_extra(monkeypatch):
    """As if gigatoken were not installed, so that large payloads are divided among processes."""
    monkeypatch.setattr(gigatoken_counter, "counter_for", lambda _tokenizer: None)


def expected_starts(text: str, name: str) -> list[int]:
    """Where tokens begin according to tiktoken; -1 inside a character."""
    data = text.encode()
    starts, at = [], 0
    for token in [*reference(name).decode_tokens_bytes(reference(name).encode_ordinary(text)), b""]:
        whole = at == len(data) or data[at] & 0xC0 != 0x80
        starts.append(at if whole else -1)
        at += len(token)
    return starts


@pytest.mark.parametrize("name", ENCODINGS)
@examples(40)
@given(text=AWKWARD, ends=st.tuples(st.integers(0, 60), st.integers(0, 60)))
def test_starts_are_those_of_tiktoken_for_any_range(name, text, ends):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 8)
        index = Index(payload_of(text.encode()), TOKENIZERS[name])
        expected = expected_starts(text, name)
        assert index.total_tokens == len(expected) - 1
        first, last = sorted(min(end, index.total_tokens) for end in ends)
        assert list(index.starts(first, last)) == expected[first : last + 1]


@pytest.mark.parametrize("name", [*ENCODINGS, "approx"])
@examples(40)
@given(parts=st.lists(st.one_of(AWKWARD.map(str.encode), st.binary(max_size=9)), max_size=6))
def test_bytes_that_are_no_utf8_count_as_their_replacement_and_are_found_again(name, parts):
    data = b"".join(parts)
    text = data.decode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_BYTES", 8)
        tokenizer = TOKENIZERS.get(name) or open_tokenizer(name)
        index = Index(payload_of(data), tokenizer)
        assert index.total_tokens == tokenizer.count(text)
        assert index.valid_utf8 == (text.encode() == data)
        starts = index.starts(0, index.total_tokens)
        cuts = [start for start in starts if start >= 0]
    assert cuts[0] == 0
    assert cuts[-1] == len(data)
    # Every allowed cut leaves the text on both sides as it was.
    for cut in cuts:
        assert data[:cut].decode("utf-8", "replace") + data[cut:].decode("utf-8", "replace") == text


def test_an_empty_payload_has_one_place_and_no_tokens():
    index = Index(payload_of(b""), TOKENIZERS["cl100k_base"])
    assert index.total_tokens == 0
    assert list(index.starts(0, 0)) == [0]


def test_a_deep_range_encodes_only_what_lies_around_it():
    data = b"".join(b"line %d of many\n" % n for n in range(200_000))
    encoded = []

    class Watched:
        name = "watched"
        continued = None

        def count(self, text):
            return TOKENIZERS["cl100k_base"].count(text)

        def token_lengths(self, text):
            encoded.append(len(text))
            return TOKENIZERS["cl100k_base"].token_lengths(text)

        def safe_cut(self, *where):
            return TOKENIZERS["cl100k_base"].safe_cut(*where)

    index = Index(payload_of(data), Watched())
    index.starts(index.total_tokens - 300, index.total_tokens)
    assert sum(encoded) < 3 * chunks.CHUNK_BYTES


def test_a_program_that_ignores_its_children_can_count_much(monkeypatch):
    monkeypatch.setattr(index, "PARALLEL_PART_BYTES", 20_000)
    monkeypatch.setattr(parallel, "available_cores", lambda: 4)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        payload = payload_of(b"some words again\n" * 20_000)
        assert index.Index(payload, open_tokenizer("cl100k_base")).total_tokens == 4 * 20_000
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_the_total_of_a_large_payload_is_an_estimate_and_of_a_small_one_exact(monkeypatch):
    data = b"".join(b"line %d of many\n" % n for n in range(100_000))
    monkeypatch.setattr(index_module, "EXACT_BYTES", len(data))
    exact = Index(payload_of(data), TOKENIZERS["cl100k_base"]).total
    assert exact.exact
    monkeypatch.setattr(index_module, "EXACT_BYTES", 1000)
    index = Index(payload_of(data), TOKENIZERS["cl100k_base"])
    assert not index.total.exact
    assert abs(index.total.tokens - exact.tokens) < exact.tokens / 10
    assert words_of(index.total).startswith("about 6")
    # Once everything is counted, it is exact again.
    assert index.total_tokens == exact.tokens
    assert index.total == exact


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base", "approx"])
@pytest.mark.parametrize("cores", [1, as_nightly(2), 3, as_nightly(8)])
def test_much_is_counted_by_several_processes_with_the_same_result(name, cores, monkeypatch, without_extra):
    monkeypatch.setattr(index, "PARALLEL_PART_BYTES", 20_000)
    monkeypatch.setattr(parallel, "available_cores", lambda: cores)
    text = ("words and, 123 numbers\n  é漢字 — \x00\n" * 9000).encode() + b"\xff\xfe end"
    payload = Spool()
    payload.write(text)
    tokenizer = open_tokenizer(name)
    found = index.Index(payload, tokenizer)
    found.reach(100)
    assert found.total_tokens == count_bytes(text, tokenizer)
    assert found.checkpoints.bytes[-1] == len(text)
    assert found.valid_utf8 is False
    # Tokens between checkpoints are found too.
    for token in (0, 1, 5000, found.total_tokens - 1):
        assert found.token_at(found.byte_at(token)) == token


def test_a_part_whose_process_dies_is_counted_here(monkeypatch, without_extra):
    monkeypatch.setattr(index, "PARALLEL_PART_BYTES", 20_000)
    monkeypatch.setattr(parallel, "available_cores", lambda: 4)
    mother = os.getpid()
    count_part = index.Index._count_part

    def dies(self, begin, end):
        if os.getpid() != mother:
            os.kill(os.getpid(), signal.SIGKILL)
        return count_part(self, begin, end)

    monkeypatch.setattr(index.Index, "_count_part", dies)
    payload = Spool()
    payload.write(b"some words again\n" * 20_000)
    assert index.Index(payload, open_tokenizer("cl100k_base")).total_tokens == 4 * 20_000


def test_the_total_of_a_large_payload_is_an_estimate_that_is_named_one():
    payload = Spool()
    payload.write(b"some words again\n" * 200_000)
    total = index.Index(payload, open_tokenizer("cl100k_base")).total
    assert (total.exact, words_of(total)) == (False, "about 800k")
    assert abs(total.tokens - 800_000) < 1000


def test_an_estimate_does_not_depend_on_how_much_was_counted():
    payload = payload_of(b"".join(b"%d\n" % number for number in range(200_000)))
    fresh = Index(payload, TOKENIZERS["cl100k_base"])
    further = Index(payload, TOKENIZERS["cl100k_base"])
    further.reach(200_000)
    assert fresh.total == further.total
    assert abs(fresh.total.tokens - further.total_tokens) < further.total_tokens / 10


def test_where_no_process_can_be_had_everything_is_counted_here(monkeypatch, without_extra):
    monkeypatch.setattr(index, "PARALLEL_PART_BYTES", 20_000)
    monkeypatch.setattr(parallel, "available_cores", lambda: 4)
    fork, calls = os.fork, []

    def fails_at_the_second():
        calls.append(1)
        if len(calls) > 1:
            raise BlockingIOError("no more processes")
        return fork()

    monkeypatch.setattr(os, "fork", fails_at_the_second)
    tokenizer = open_tokenizer("cl100k_base")
    # Open the files that stay open.
    tokenizer.count("some words again")
    before = os.listdir("/dev/fd")
    payload = payload_of(b"some words again\n" * 20_000)
    assert index.Index(payload, tokenizer).total_tokens == 4 * 20_000
    assert len(os.listdir("/dev/fd")) == len(before)


def test_threads_find_what_is_no_text_each_in_their_own_bytes(monkeypatch):
    """Decoding finds its handler by name; it must not find the one of another thread."""
    import codecs
    import threading

    from tokcap.tokens.replacement import invalid_spans

    both_are_bound = threading.Barrier(2)
    register = codecs.register_error

    def register_and_wait(name, handler):
        register(name, handler)
        both_are_bound.wait(30)

    monkeypatch.setattr(codecs, "register_error", register_and_wait)
    found = {}

    def find(data):
        begins, stops = invalid_spans(data)
        found[data] = list(begins), list(stops)

    threads = [threading.Thread(target=find, args=(data,)) for data in (b"a\xff", b"abc\xff\xff")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {b"a\xff": ([1], [2]), b"abc\xff\xff": ([3, 4], [4, 5])}


def test_a_program_with_foreign_threads_does_not_fork():
    """A lock that such a thread holds would stay locked in the child."""
    over = threading.Event()
    foreign = threading.Thread(target=over.wait)
    foreign.start()
    assert not threads.may_fork()
    over.set()
    foreign.join()


def test_a_program_with_only_fork_safe_threads_may_fork():
    started, over, ended = threading.Event(), threading.Event(), threading.Event()

    def work():
        started.set()
        over.wait()
        ended.set()

    before = threads.count_other_threads()
    threads.start_fork_safe_thread(work)
    started.wait()
    assert threads.may_fork() == (before == 0)
    over.set()
    ended.wait()


def test_a_stored_index_of_a_large_text_is_thinned_and_gives_the_same_positions(monkeypatch):
    text = b"".join(b"%d some words, then \xc3\xa9t\xc3\xa9\n" % number for number in range(40_000))
    whole = Index(in_memory(text), open_tokenizer("cl100k_base"))
    whole.count_all()
    monkeypatch.setattr("tokcap.tokens.checkpoints.MOST_STORED", 10)
    known = Checkpoints.unpacked(whole.packed(len(text)), len(text))
    assert len(known) < 20 < len(whole.checkpoints)
    assert known.complete
    thin = Index(in_memory(text), open_tokenizer("cl100k_base"), known)
    total = whole.total_tokens
    assert thin.total_tokens == total
    for first in range(0, total - 20, total // 7):
        assert [*thin.starts(first, first + 20)] == [*whole.starts(first, first + 20)]
        assert thin.token_at(thin.byte_at(first)) == whole.token_at(whole.byte_at(first))


def test_a_stored_index_has_the_sample_from_which_totals_are_estimated():
    class Counting:
        """A payload that notes what is read of it."""

        lost = 0

        def __init__(self, data):
            self._data, self.size, self.reads = data, len(data), []

        def read(self, start, stop):
            self.reads.append((start, stop))
            return self._data[start:stop]

    text = b"".join(b"line %d\n" % number for number in range(50_000))
    first = Index(in_memory(text), open_tokenizer("cl100k_base"))
    first.reach(100)
    expected = first.total
    assert not expected.exact
    payload = Counting(text)
    known = Checkpoints.unpacked(first.packed(len(text)), len(text))
    assert Index(payload, open_tokenizer("cl100k_base"), known).total == expected
    assert payload.reads == []
    # What is stored of a larger output has other places, and no sample.
    assert Checkpoints.unpacked(first.packed(len(text) - 8), len(text) - 8).sample is None
