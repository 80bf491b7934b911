"""The encoders for small texts, in C and in Python, give tiktoken's tokens or None, and load no library."""

import _sre
import functools
import marshal
import os
import random
import re
import subprocess
import sys
import sysconfig
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.program import ROOT
from tests.support.reference import ENCODINGS, reference
from tests.support.texts import (
    ANYTHING,
    EMOJI,
    LONG_RUNS,
    SURROUNDINGS,
    code_points,
    is_one_of_many,
)
from tests.support.tiers import examples, some_everyday, times
from tokcap.lean import patterns
from tokcap.steps import patterns as start_up_patterns
from tokcap.tokens import (
    buckets,
    character_classes,
    embedded,
    native_text,
    small_text,
    vocabulary,
)
from tokcap.tokens import compile as compiler

WITHOUT_END = 1 << 62

# How an encoder for small texts is opened. A package that was built without a compiler has no first one.
ENCODERS = {"compiled": native_text.native_encoder, "plain": small_text.SmallTextEncoder}
NOT_COMPILED = "tokcap was built without a C compiler"
each_encoder = pytest.mark.parametrize("kind", ENCODERS)


def opened(kind, name):
    return ENCODERS[kind](name) or pytest.skip(NOT_COMPILED)


def compiled_module():
    return pytest.importorskip("tokcap.tokens._native", reason=NOT_COMPILED)


@pytest.fixture
def unlimited(monkeypatch):
    """No amount of work makes the encoder decline."""
    for name in ENCODINGS:
        monkeypatch.setitem(embedded.ALLOWANCE, name, WITHOUT_END)


def lengths_of(name: str, text: str) -> list[int]:
    """The token lengths according to tiktoken."""
    encoding = reference(name)
    return list(map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text))))


def certain(text: str) -> bool:
    return all(unicodedata.category(character) not in ("Cn", "Cs") for character in text)


@functools.cache
def remembering(kind, name):
    """One encoder for all examples, as in one process, so that what it remembers is tested too."""
    return opened(kind, name)


@each_encoder
@pytest.mark.parametrize("name", ENCODINGS)
@examples(50)
@given(text=ANYTHING)
@example(text="")
@example(text="<|endoftext|>")
def test_any_text_has_the_tokens_of_tiktoken_or_is_declined(name, kind, text):
    encoder = remembering(kind, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(embedded.ALLOWANCE, name, WITHOUT_END)
        found = encoder.token_lengths(text)
    if certain(text):
        assert list(found) == lengths_of(name, text)
    else:
        assert found is None


def test_compiled_code_knows_common_signs_and_leaves_all_others_to_python():
    _native = compiled_module()
    known = 0
    for number in (point for point in code_points() if point >= 0x80):
        found = _native.sign_classes(f"a{chr(number)}b".encode())
        if found is not None:
            known += 1
            assert found == character_classes.classes_of(f"a{chr(number)}b"), hex(number)
    assert known > (1000 if times() > 1 else 50)


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_code_point_has_the_class_that_tiktoken_gives_it(name):
    """The pieces of each text, merged by tiktoken, are what tiktoken itself makes of the text."""
    encoding, encoder = reference(name), small_text.SmallTextEncoder(name)
    known = [chr(point) for point in code_points() if certain(chr(point))]
    assert len(known) > (50_000 if times() > 1 else 3_000)
    for start in range(0, len(known), 64):
        characters = known[start : start + 64]
        # Ideographs, syllables and private use planes behave alike: the first surroundings are enough there.
        for surroundings in SURROUNDINGS[: 1 if is_one_of_many(ord(characters[0])) else None]:
            text = "".join(map(surroundings.format, characters))
            apart = [
                token for piece in encoder._pieces(text) for token in encoding._encode_single_piece(piece)
            ]
            assert apart == encoding.encode_ordinary(text), ascii(characters)


@each_encoder
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_character_alone_and_in_a_word_has_the_tokens_of_tiktoken(name, kind, unlimited):
    encoder = opened(kind, name)
    known = [chr(point) for point in code_points() if certain(chr(point))]
    for start in range(0, len(known), 0x80):
        text = "".join(f"{character}\n{character}a " for character in known[start : start + 0x80])
        assert list(encoder.token_lengths(text)) == lengths_of(name, text), ascii(known[start])


@each_encoder
@pytest.mark.parametrize("name", ENCODINGS)
def test_sources_of_this_python_have_the_tokens_of_tiktoken(name, kind, unlimited):
    library = Path(sysconfig.get_path("stdlib"))
    sources = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    assert len(sources) > 500
    if times() == 1:
        sources = [path for path in sources[::10] if path.stat().st_size < 20_000]
    encoder = opened(kind, name)
    # Each encoding and each encoder gets others of them.
    first = 2 * ENCODINGS.index(name) + [*ENCODERS].index(kind)
    for source in sources[first :: 8 if times() > 1 else 20]:
        text = source.read_bytes().decode("utf-8", "replace")
        found = encoder.token_lengths(text)
        if found is not None or certain(text):
            assert len(found) == len(reference(name).encode_ordinary(text)), source


@each_encoder
@pytest.mark.parametrize("name", ENCODINGS)
@examples(30)
@given(text=st.lists(st.sampled_from(EMOJI), max_size=12).map("".join))
def test_emoji_sequences_have_the_tokens_of_tiktoken(name, kind, text):
    assert list(remembering(kind, name).token_lengths(text)) == lengths_of(name, text)


SCRIPTS = {
    "greek": "Ένα μικρό βήμα για τον άνθρωπο, ένα τεράστιο άλμα για την ανθρωπότητα.",
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. ЁЖ и ёж.",
    "hebrew": "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם",
    "arabic": "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ١٢٣٤",
    "hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश १२३",
    "tamil": "யாமறிந்த மொழிகளிலே தமிழ்மொழி போல் இனிதாவது எங்கும் காணோம்",
    "thai": "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า กว่าบรรดาฝูงสัตว์เดรัจฉาน ๑๒๓",
    "chinese": "视野无限广，窗外有蓝天。微風迎客，軟語伴茶。二〇二四年",
    "japanese": "いろはにほへと ちりぬるを ワカヨタレソ ツネナラム 々〆ー㍿",
    "korean": "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. ㄱㄴㄷ",
    "amharic": "ሰማይ አይታረስ ንጉሥ አይከሰስ። ፩፪፫",
    "georgian": "ჩვენ ვართ ქართველები ᲩᲕᲔᲜ",
    "cherokee": "ᎠᏂᎩᏚᏩᎩ ꭰꮒꭹ",
    "vietnamese": "Do bạch kim rất quý nên sẽ dùng để lắp vô xương. ệ",
    "turkish": "Pijamalı hasta yağız şoföre çabucak güvendi. İI ıi",
    "gothic": "𐌼𐌰𐌲 𐌲𐌻𐌴𐍃 𐌹̈𐍄𐌰𐌽",
    "mathematical": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 ∑∞ ℵ₀ x² ½ Ⅻ ﬁ Ǆ ǅ ǆ",
    "box drawing": "┌─┬─┐│✓│✗│└─┴─┘ ░▒▓█ ⠋⠙⠹",
}


@each_encoder
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_has_the_tokens_of_tiktoken(name, kind, script):
    text, encoder = SCRIPTS[script], opened(kind, name)
    for variant in (
        text,
        text.upper(),
        text.lower(),
        text.swapcase(),
        text.replace(" ", ""),
        text.replace(" ", "'"),
    ):
        for form in ("NFC", "NFD", "NFKC"):
            written = unicodedata.normalize(form, variant)
            assert list(encoder.token_lengths(written)) == lengths_of(name, written)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "alphabet", ["ab", "abc", "aàb", "=-", "=-*", "th", "漢字", "\0\1", "Ab", "e\u0301", " \t", "01"]
)
def test_pieces_of_any_length_are_merged_as_tiktoken_merges_them(name, alphabet):
    ranks = buckets.Ranks(os.path.join(embedded.DIRECTORY, f"{name}.buckets"))
    dice = random.Random(alphabet)
    for size in (2, 3, 5, 8, 20, 60, 99, 100, 101, 400):
        piece = "".join(dice.choices(alphabet, k=size)).encode()
        tokens = reference(name).decode_tokens_bytes(reference(name)._encode_single_piece(piece))
        parts = [bytes((byte,)) for byte in piece]
        assert list(small_text.merged_lengths(parts, ranks)) == list(map(len, tokens))


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("alphabet", ["ab", "aàb", "=-*", "漢字", "\0\1", "Ab", "e\u0301", " \t"])
def test_compiled_code_merges_long_pieces_as_tiktoken_does(name, alphabet):
    dice = random.Random(alphabet)
    for size in (99, 254, 255, 256, 257, 600, 2047, 2048):
        text = "".join(dice.choices(alphabet, k=size))
        # A longer piece than the encoder takes is declined.
        found = opened("compiled", name).token_lengths(text)
        assert found is None or list(found) == lengths_of(name, text)
        assert found is not None or len(text.encode()) > 2048


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(
    "alphabet", ["ab", "etaoinshr", "=-*/#", "() \n", "\n\r ", "Return_Value", "<>/=\"'"]
)
def test_the_first_merges_of_many_pieces_at_once_are_those_of_tiktoken(name, alphabet):
    ranks = buckets.Ranks(os.path.join(embedded.DIRECTORY, f"{name}.buckets"))
    first = small_text.FirstMerges(small_text.FIRST_MERGES[name])
    dice = random.Random(alphabet)
    pieces = ["".join(dice.choices(alphabet, k=dice.randint(2, 30))).encode() for _ in range(300)]
    for piece, parts in zip(pieces, first.parts_of(pieces), strict=True):
        tokens = reference(name).decode_tokens_bytes(reference(name)._encode_single_piece(piece))
        assert b"".join(parts) == piece
        assert list(small_text.merged_lengths(parts, ranks)) == list(map(len, tokens))


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_first_merges_are_those_of_the_vocabulary(name):
    assert compiler.first_merges(vocabulary.load(name)) == small_text.FIRST_MERGES[name]


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("run", ["letters", "signs", "nul bytes", "ideographs", "blanks and newlines"])
def test_a_long_piece_is_left_to_tiktoken_before_it_is_merged(name, run, monkeypatch):
    def merged(parts, _ranks):
        raise AssertionError(f"{len(parts)} bytes were merged")

    monkeypatch.setattr(small_text, "merged_lengths", merged)
    encoder = small_text.SmallTextEncoder(name)
    assert encoder.token_lengths(LONG_RUNS[run][:100_000]) is None
    assert opened("compiled", name).token_lengths(LONG_RUNS[run][:100_000]) is None


@pytest.mark.parametrize("name", ENCODINGS)
def test_many_long_pieces_are_left_to_tiktoken(name):
    dice = random.Random(3)
    # Each of them could be merged; all of them would take longer than loading tiktoken.
    text = " ".join("".join(dice.choices("abcdefgh", k=2000)) for _ in range(60))
    assert opened("compiled", name).token_lengths(text) is None
    assert opened("compiled", name).token_lengths(text[:20_000]) is not None


@pytest.mark.parametrize(
    "character", ["\u0378", "\ufdd0", "\uffff", "\U0010ffff", "\ud800", "\U000e0fff"], ids=ascii
)
@each_encoder
def test_a_character_that_is_not_assigned_is_left_to_tiktoken(character, kind):
    assert opened(kind, "cl100k_base").token_lengths(f"well known, and then {character}") is None


def test_with_newer_unicode_tables_than_tiktoken_has_only_old_characters_are_certain(monkeypatch):
    monkeypatch.setattr(character_classes, "NEWEST_UNICODE", (1, 0))
    monkeypatch.setattr(character_classes, "CLASSES", character_classes.Classes(character_classes.SPECIAL))
    assert character_classes.classes_of("aé漢→") == bytes(
        [ord("a"), character_classes.LOWER, character_classes.CASELESS, character_classes.REST]
    )
    assert character_classes.classes_of("🥲") is None


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize(("kind", "allowance"), [("compiled", 250_000), ("plain", 2_000_000)])
def test_counting_goes_on_with_tiktoken_when_a_text_is_not_small(name, kind, allowance, monkeypatch):
    opened(kind, name)
    if kind == "plain":
        monkeypatch.setattr(native_text, "native_encoder", lambda _name: None)
    monkeypatch.setitem(embedded.ALLOWANCE, name, allowance)
    tokenizer = embedded.EmbeddedTokenizer(name)
    dice = random.Random(7)
    loaded = []
    for _ in range(20):
        text = " ".join(f"{dice.getrandbits(40):x}" for _ in range(50))
        assert list(tokenizer.token_lengths(text)) == lengths_of(name, text)
        assert tokenizer.count(text) == len(lengths_of(name, text))
        loaded.append(tokenizer._byte_pair is not None)
    assert loaded == sorted(loaded)
    assert not loaded[0]
    assert loaded[-1]


def test_once_tiktoken_is_loaded_it_is_used():
    tokenizer = embedded.EmbeddedTokenizer("cl100k_base")
    assert tokenizer.count("\u0378") == len(lengths_of("cl100k_base", "\u0378"))
    assert tokenizer._small_text_lengths("plain") is None


COUNT = """
import sys
from tokcap.tokens import open_tokenizer
tokenizer = open_tokenizer(sys.argv[1])
text = sys.stdin.read()
print(tokenizer.count(text), sum(tokenizer.token_lengths(text)))
print(*sys.modules)
"""


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_small_text_is_counted_without_any_library(name):
    text = (ROOT / "README.md").read_text()
    done = subprocess.run(
        [sys.executable, "-c", COUNT, name], input=text, capture_output=True, text=True, check=True, cwd=ROOT
    )
    counted, loaded = done.stdout.splitlines()
    assert counted == f"{len(lengths_of(name, text))} {len(text.encode())}"
    heavy = {"tiktoken", "regex", "orjson", "json", "enum", "functools", "zlib", "hashlib"}
    if _sre.MAGIC in patterns.ENGINES:
        heavy.add("re")
    assert heavy.isdisjoint(loaded.split())


@pytest.mark.parametrize("name", some_everyday(ENCODINGS, 1))
def test_the_buckets_are_what_the_compiler_makes_of_the_vocabulary(name):
    with open(os.path.join(embedded.DIRECTORY, f"{name}.buckets"), "rb") as file:
        assert file.read() == compiler.bucket_file(vocabulary.load(name))


@pytest.mark.parametrize("name", some_everyday(ENCODINGS, 1))
def test_the_buckets_hold_every_token_in_its_order_and_nothing_else(name):
    ranks = buckets.Ranks(os.path.join(embedded.DIRECTORY, f"{name}.buckets"))
    table = vocabulary.load(name).ranks()
    assert all(bytes([number]) in table for number in range(256))
    found = [ranks[token] for token in table if len(token) > 1]
    assert found == sorted(set(found))
    assert found[-1] < buckets.NO_RANK
    for token in [*table][::7]:
        for other in (token + b"s", b" " + token, token[1:], token[:-1]):
            if len(other) > 1:
                assert (ranks[other] == buckets.NO_RANK) == (other not in table)


def test_a_token_that_holds_a_delimiter_of_the_buckets_is_refused():
    toy = compiler.compile_table("toy", b"/w== 0\nYf4= 1\n")
    with pytest.raises(ValueError, match="token 1 contains a byte that UTF-8 never uses"):
        compiler.bucket_file(toy)


WHOLE = Path(embedded.DIRECTORY, "cl100k_base.buckets")


@pytest.mark.parametrize(
    "damage",
    [
        lambda _whole: None,
        lambda _whole: b"",
        lambda whole: b"other" + whole[5:],
        lambda whole: whole[:40],
        lambda whole: whole[:40_001],
        lambda whole: whole[:-1],
    ],
    ids=["missing", "empty", "another format", "only a beginning", "no buckets", "not all"],
)
@each_encoder
def test_buckets_that_cannot_be_read_cost_time_and_nothing_else(damage, kind, monkeypatch, tmp_path):
    content = damage(WHOLE.read_bytes())
    if content is not None:
        (tmp_path / WHOLE.name).write_bytes(content)
    monkeypatch.setattr(small_text, "DIRECTORY", str(tmp_path))
    monkeypatch.setattr(native_text, "DIRECTORY", str(tmp_path))
    assert opened(kind, "cl100k_base").token_lengths("Well, well.") is None
    assert embedded.EmbeddedTokenizer("cl100k_base").count("Well, well.") == 4


def test_compiled_code_never_reads_past_damaged_buckets():
    """A damaged table gives tokens that cover the text, or none."""
    _native = compiled_module()
    dice = random.Random(11)
    text = (ROOT / "README.md").read_bytes().decode().encode("ascii", "ignore")
    whole = WHOLE.read_bytes()
    for damage in range(10 * times()):
        table = bytearray(whole)
        for _ in range(10 ** (damage % 5)):
            table[dice.randrange(len(table))] = dice.randrange(256)
        found = _native.token_lengths(
            bytes(table[: dice.randrange(70_000, len(table))]), "o200k_base", text, text
        )
        assert found is None or sum(found) == len(text)
    with pytest.raises(ValueError, match="not a bucket file"):
        _native.token_lengths(whole[:65_000], "o200k_base", text, text)
    with pytest.raises(ValueError, match="unknown pre-split: gpt2"):
        _native.token_lengths(whole, "gpt2", text, text)


def test_the_ready_patterns_are_what_re_makes_of_their_sources():
    for path, listed in start_up_patterns.READY_FILES.items():
        for source, flags in listed:
            assert patterns.key_of(source, flags) in patterns.read_ready(path)
            # Equal patterns have equal code, not only equal sources.
            assert patterns.compiled(source, flags) == re.compile(source, flags)
        if _sre.MAGIC in patterns.ENGINES:
            assert Path(path).read_bytes() == start_up_patterns.ready_patterns(listed)


@pytest.mark.parametrize(
    "found", [(1, b"\xff" * 8), (1, b"123"), (1, "text"), (1,), 7, (-1, b"\0" * 4)], ids=repr
)
def test_a_damaged_pattern_that_the_engine_refuses_is_compiled_by_re(monkeypatch, found):
    source, flags = start_up_patterns.PATTERNS[0]
    monkeypatch.setattr(patterns, "_ready", {patterns.key_of(source, flags): found})
    assert patterns.compiled(source, flags) is re.compile(source, flags)


@pytest.mark.parametrize("content", [b"", b"text", marshal.dumps(7), marshal.dumps({1: 2})[:-3]], ids=repr)
def test_a_damaged_file_of_patterns_has_none(tmp_path, content):
    path = tmp_path / "patterns.ready"
    path.write_bytes(content)
    assert patterns.read_ready(str(path)) == {}


def test_a_pattern_that_is_not_ready_or_not_for_this_engine_is_compiled_by_re(monkeypatch, tmp_path):
    assert patterns.compiled(b"a+b") is re.compile(b"a+b")
    source, _ = start_up_patterns.PATTERNS[0]
    monkeypatch.setattr(patterns, "ENGINES", ())
    assert patterns.compiled(source) is re.compile(source)
    monkeypatch.undo()
    monkeypatch.setattr(patterns, "READY_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(patterns, "_ready", {})
    assert patterns.compiled(source) is re.compile(source)
