"""Read a published vocabulary: a tokenizer.json, a tekken.json, or a table of tiktoken.

Nothing here trusts a file. What comes out is a list of tokens in the order in which they are merged, which
is all that the encoder knows.
A file that asks for anything else is refused.
"""

from __future__ import annotations

import binascii
import hashlib
import os
import stat
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

from tokcap.startup.record import Record
from tokcap.tokens.embedded import BYTES_BY_RANK, VISIBLE
from tokcap.tokens.normalization import WRITTEN_BLANK
from tokcap.tokens.pre_splits import DIGIT, GPT2, PRE_SPLITS, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# The largest published tokenizer.json has half of it.
MOST_BYTES = 64 << 20
# More values than any published vocabulary has in a JSON file.
MOST_JSON_PARTS = 1 << 22
# Encoding a token takes time by the square of its length. Real vocabularies have a tenth of this in all.
MOST_SQUARED_BYTES = 1 << 28
LONGEST_TOKEN_BYTES = 255
# Bytes that never occur in UTF-8. Text that is not UTF-8 is replaced before it is counted.
NEVER_IN_TEXT = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))
SINGLE = [bytes((number,)) for number in range(256)]
NO_RANK = 1 << 30

BYTE_NAMES = {f"<0x{byte:02X}>": byte for byte in range(0x100)}
BLANK_REPLACED = {"type": "Replace", "pattern": {"String": " "}, "content": WRITTEN_BLANK}
BLANK_BEFORE = {"type": "Prepend", "prepend": WRITTEN_BLANK}
# After normalization there are no blanks, so this splits nothing.
SPLIT_AT_BLANKS = {
    "type": "Split",
    "pattern": {"String": " "},
    "behavior": "MergedWithPrevious",
    "invert": False,
}
# When `Metaspace` puts a blank before a text. It does not if there is one.
PREPEND_SCHEMES = {"first": "unless blank", "always": "unless blank", "never": "none"}
# Parts of a model that must be absent: they would change tokens.
ABSENT = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")

Merges = dict[tuple[bytes, ...], int]


class Refused(Exception):
    """The file is damaged, or cannot be counted with exactly. The message says why, in a few words."""


class Published(Record):
    """A byte-pair vocabulary."""

    # All bytes, then what is merged, in order.
    tokens: Sequence[bytes]
    # A name in `PRE_SPLITS`.
    pre_split: str
    format: str
    # A name in `NORMALIZATIONS`. With "blanks", merging starts with characters, and with the bytes of those
    # that are not tokens.
    normalizer: str = "none"
    # When a text gets a blank before it: "none", "always" or "unless blank".
    prefix: str = "none"


def read(path: str, pre_split: str = "") -> tuple[Published, str]:
    """Return the vocabulary in a file, and the digest of the file.

    `pre_split` is what the user says about a table, which has no pattern; empty for other files.
    """
    content = content_of(path)
    is_json = content[:64].lstrip()[:1] == b"{"
    if is_json and pre_split:
        raise Refused("it has its own pre-split; leave out --pre-split")
    if is_json:
        model = from_json(content)
        found = tekken(model) if "config" in model else hugging_face(model)
    elif content.partition(b"\n")[0].strip().partition(b" ")[2].isdigit():
        found = table(content, pre_split)
    else:
        raise Refused("it is neither a tokenizer.json, nor a tekken.json, nor a table of tiktoken")
    if max(map(len, found.tokens)) > LONGEST_TOKEN_BYTES:
        raise Refused(f"it has a token of more than {LONGEST_TOKEN_BYTES} bytes")
    return found, hashlib.sha256(content).hexdigest()


def content_of(path: str) -> bytes:
    # Without blocking: a pipe that nobody writes would never be opened.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Refused("it is not a regular file")
    with open(descriptor, "rb") as file:
        if status.st_size > MOST_BYTES:
            raise Refused(f"it has {status.st_size >> 20} MB; no vocabulary has more than {MOST_BYTES >> 20}")
        return file.read(MOST_BYTES)


def from_json(content: bytes) -> dict[str, Any]:
    """Return the object in a JSON file."""
    import orjson

    # Before it is parsed, which can take thirty bytes of memory for each byte. Signs in texts count too.
    parts = sum(map(content.count, (b"[", b"{", b",")))
    if parts > MOST_JSON_PARTS:
        raise Refused(f"it has about {parts} values; no vocabulary has more than {MOST_JSON_PARTS}")
    try:
        found: dict[str, Any] = member({"file": orjson.loads(content)}, "file", dict)
    except orjson.JSONDecodeError as error:
        raise Refused(f"it is not JSON: {error}") from None
    return found


def member(content: Mapping[str, Any], name: str, kind: type) -> Any:
    """Return a member of a JSON object, which must have this type."""
    found = content.get(name)
    if not isinstance(found, kind):
        raise Refused(f"it has no {name!r}, or of another type")
    return found


def parts_of(part: object, members: str) -> Iterator[Mapping[str, Any]]:
    """Return the parts of a sequence, or the part itself; nothing for null."""
    is_sequence = isinstance(part, dict) and part.get("type") == "Sequence"
    for inner in member(part, members, list) if is_sequence and isinstance(part, dict) else [part]:
        if isinstance(inner, dict):
            yield inner
        elif inner is not None:
            raise Refused("a part of it is not an object")


# Tables of ranks: every pair that makes a token may be merged, and the rank is that of the token.


def tekken(content: Mapping[str, Any]) -> Published:
    config = member(content, "config", dict)
    # The file has more tokens than models use.
    size = member(config, "default_vocab_size", int) - member(config, "default_num_special_tokens", int)
    vocabulary = member(content, "vocab", list)
    if not 0 < size <= len(vocabulary):
        raise Refused(f"it has {len(vocabulary)} tokens, and not {size}")
    keys = ("token_bytes", "rank")
    rows = ([row.get(key) for key in keys] if isinstance(row, dict) else [] for row in vocabulary[:size])
    return ranked(rows, known_name((member(config, "pattern", str),)), "tekken.json of Mistral")


def table(content: bytes, pre_split: str) -> Published:
    if pre_split not in PRE_SPLITS or not PRE_SPLITS[pre_split].patterns:
        known = ", ".join(name for name, one in PRE_SPLITS.items() if one.patterns)
        raise Refused(f"a table has no pattern; name it with --pre-split: {known}")
    return ranked(map(bytes.split, content.splitlines()), pre_split, "table of tiktoken")


def ranked(rows: Iterable[Sequence[Any]], pre_split: str, form: str) -> Published:
    """Return a vocabulary of tokens in Base64, each with its rank."""
    ranks: dict[bytes, int] = {}
    for number, row in enumerate(rows, 1):
        try:
            encoded, rank = row
            token = binascii.a2b_base64(encoded, strict_mode=True)
            if token in ranks:
                raise Refused(f"the token in row {number} has a rank already")
            ranks[token] = int(rank)
        except (ValueError, TypeError):
            raise Refused(f"row {number} is not a token and its rank") from None
    if len(set(ranks.values())) != len(ranks):
        raise Refused("two of its tokens have the same rank")
    longer = [token for token in ranks if len(token) > 1]
    return Published(with_bytes(ranks, sorted(longer, key=ranks.__getitem__)), pre_split, form)


def with_bytes(tokens: Iterable[bytes], longer: Sequence[bytes]) -> Sequence[bytes]:
    known = frozenset(tokens)
    missing = [byte for byte in range(0x100) if SINGLE[byte] not in known and byte not in NEVER_IN_TEXT]
    if missing:
        raise Refused(f"it has no token for the byte {missing[0]:#04x}")
    return [*SINGLE, *longer]


def known_name(patterns: tuple[str, ...]) -> str:
    name = name_of(patterns)
    if name is None:
        raise Refused(f"its pre-split is not known: {' then '.join(patterns)[:200] or 'none'}")
    return name


# tokenizer.json: pairs that may be merged, each with its rank.


def hugging_face(content: Mapping[str, Any]) -> Published:
    model = member(content, "model", dict)
    kind = model.get("type", "BPE" if "merges" in model else "unknown")
    if kind != "BPE":
        raise Refused(f"its model is {kind!r}, and only byte-pair encoding (BPE) is counted exactly")
    for part in ABSENT:
        if model.get(part):
            raise Refused(f"its model has {part}")
    vocabulary, merges = member(model, "vocab", dict), member(model, "merges", list)
    if model.get("byte_fallback"):
        # Every character has a token or bytes, so the token for unknown ones is never used.
        return of_characters(content, model)
    if model.get("unk_token"):
        raise Refused("its model has unk_token")
    name = known_name(splits_of(content.get("pre_tokenizer")))
    tokens = bytes_of_tokens(vocabulary)
    pairs = pairs_of(merges, tokens, tokens)
    is_found_whole = model.get("ignore_merges") is True
    longer = merged_tokens(tokens.values(), pairs, bytes_of, is_found_whole=is_found_whole)
    normalizers = [inner.get("type") for inner in parts_of(content.get("normalizer"), "normalizers")]
    if normalizers not in ([], ["NFC"]):
        raise Refused(f"its normalizer is {', '.join(map(str, normalizers))}, and only NFC is known")
    normalizer = "nfc" if normalizers else "none"
    form = "tokenizer.json of Hugging Face"
    return Published(with_bytes(tokens.values(), longer), name, form, normalizer=normalizer)


def splits_of(part: object) -> tuple[str, ...]:
    """Return the patterns that divide the text, one after the other."""
    patterns: list[str] = []
    is_byte_level = False
    for inner in parts_of(part, "pretokenizers"):
        kind = inner.get("type")
        if kind == "Split":
            pattern = member(inner, "pattern", dict).get("Regex")
            behavior = (inner.get("behavior"), bool(inner.get("invert")))
            # What is between matches becomes a piece too, or it is dropped; there is nothing between them.
            if not isinstance(pattern, str) or behavior not in (("Isolated", False), ("Removed", True)):
                raise Refused(f"it splits in a way that is not known ({behavior[0]})")
            patterns.append(pattern)
        elif kind == "ByteLevel":
            if inner.get("add_prefix_space"):
                raise Refused("it puts a space before every text")
            if inner.get("use_regex", True):
                patterns.append(GPT2)
            is_byte_level = True
        elif kind == "Digits" and inner.get("individual_digits") is True:
            patterns.append(DIGIT)
        else:
            raise Refused(f"its pre-tokenizer has the part {kind!r}, which is not known")
    if not is_byte_level:
        raise Refused("its tokens are characters without a fallback to bytes")
    return tuple(patterns)


def byte_of_character() -> Mapping[str, int]:
    """Return the byte that each visible character stands for: a space is written as `Ġ`."""
    visible = {chr(byte): byte for byte in VISIBLE}
    return visible | {chr(0x100 + place): byte for place, byte in enumerate(BYTES_BY_RANK[len(VISIBLE) :])}


def bytes_of_tokens(vocabulary: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of each token. One with other characters never occurs in text: it is special."""
    byte_of = byte_of_character().__getitem__
    found = {}
    for written in vocabulary:
        try:
            found[written] = bytes(map(byte_of, written))
        except KeyError:
            continue
    return found


def of_characters(content: Mapping[str, Any], model: Mapping[str, Any]) -> Published:
    """Return a vocabulary of characters with bytes as a fallback, as SentencePiece trains it."""
    vocabulary = model["vocab"]
    for name, byte in BYTE_NAMES.items():
        is_character = byte < 0x80 and chr(byte) in vocabulary
        if name not in vocabulary and byte not in NEVER_IN_TEXT and not is_character:
            raise Refused(f"it has no token for the byte {byte:#04x}")
    tokens = {
        written: written.replace(WRITTEN_BLANK, " ").encode("utf-8", "replace")
        for written in vocabulary
        if " " not in written and written not in BYTE_NAMES
    }
    pairs = pairs_of(model["merges"], tokens, vocabulary)
    characters = sorted({token for token in tokens.values() if len(token) > 1 and len(token.decode()) == 1})
    known = frozenset((*SINGLE[:0x80], *characters))
    longer = [token for token in tokens.values() if known.issuperset(characters_of(token))]
    merged = merged_tokens(longer, pairs, characters_of)
    import regex

    one_piece = regex.compile(PRE_SPLITS["sentencepiece"].pieces).fullmatch
    for token in merged:
        # Cuts are safe only where no token has both sides.
        if not one_piece(token.decode()):
            raise Refused(f"its token {token.decode()!r} joins what other vocabularies divide")
    return Published(
        [*SINGLE, *characters, *merged],
        "sentencepiece",
        "tokenizer.json of Hugging Face",
        normalizer="blanks",
        prefix=prefix_of(content),
    )


def prefix_of(content: Mapping[str, Any]) -> str:
    """Return when a text gets a blank before it; `Refused` if more is done with the text."""
    normalizers = list(parts_of(content.get("normalizer"), "normalizers"))
    splits = [
        part for part in parts_of(content.get("pre_tokenizer"), "pretokenizers") if part != SPLIT_AT_BLANKS
    ]
    if not splits and normalizers == [BLANK_REPLACED]:
        return "none"
    if not splits and normalizers == [BLANK_BEFORE, BLANK_REPLACED]:
        return "always"
    if not normalizers and [part.get("type") for part in splits] == ["Metaspace"]:
        (part,) = splits
        scheme = PREPEND_SCHEMES.get(part.get("prepend_scheme", "always"))
        if part.get("replacement") == WRITTEN_BLANK and part.get("split", True) is False and scheme:
            return scheme
        raise Refused("it splits texts at every blank")
    found = [str(part.get("type")) for part in (*normalizers, *splits)]
    raise Refused(f"it changes texts in a way that is not known ({', '.join(found) or 'not at all'})")


def pairs_of(merges: Iterable[Any], tokens: Mapping[str, bytes], vocabulary: Mapping[str, Any]) -> Merges:
    """Return the rank of each pair of these tokens. `vocabulary` may have more, which no text has."""
    found: Merges = {}
    for rank, merge in enumerate(merges):
        try:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            # A merge of tokens that do not exist, or to one, is an error in `tokenizers` too.
            if not (left in vocabulary and right in vocabulary and left + right in vocabulary):
                raise KeyError(merge)
        except (KeyError, TypeError, ValueError):
            raise Refused(f"merge {rank + 1} is not a pair of its tokens") from None
        if left in tokens and right in tokens:
            if left + right not in tokens:
                raise Refused(f"merge {rank + 1} makes the token of a byte")
            found[tokens[left], tokens[right]] = rank
    return found


def bytes_of(token: bytes) -> list[bytes]:
    return [*map(SINGLE.__getitem__, token)]


def characters_of(token: bytes) -> list[bytes]:
    return [character.encode() for character in token.decode()]


def merged_tokens(
    tokens: Iterable[bytes],
    merges: Merges,
    parts: Callable[[bytes], list[bytes]],
    *,
    is_found_whole: bool = False,
) -> list[bytes]:
    """Return the tokens that text can have, in the order in which they are merged; then those found whole.

    In `tokenizers`, every pair that may be merged has a rank. The encoder gives every token one, and merges
    every pair that makes the token. Both make the same tokens of every text if each token has the rank of
    the one pair that ever makes it: encode the token by itself, and the state with two parts, if there is
    one, is that pair. As long as no merge crosses the ends of these bytes, what happens between them does
    not depend on what is around them. If that pair is not merged, or if there is no such state, no text
    makes the token by merging. `is_found_whole`: a piece that is a token is not merged.
    """
    longer = [token for token in tokens if len(token) > 1 and NEVER_IN_TEXT.isdisjoint(token)]
    if sum(len(token) ** 2 for token in longer) > MOST_SQUARED_BYTES or not longer:
        raise Refused("its tokens are too long, or there are none")
    rank_of: dict[bytes, int] = {}
    whole = []
    for token in longer:
        split = parts(token)
        pair = last_pair(split, merges) if len(split) > 1 else ()
        if pair in merges:
            rank_of[token] = merges[pair]
        elif is_found_whole and token.decode(errors="ignore").encode() == token:
            if pair:
                # The encoder would merge the two wherever they meet.
                raise Refused(f"the token {token!r} is found whole, but {pair!r} is not merged to it")
            whole.append(token)
    return [*sorted(rank_of, key=rank_of.__getitem__), *sorted(whole)]


def last_pair(parts: list[bytes], merges: Merges) -> tuple[bytes, ...]:
    """Encode the parts of a token by themselves. Return the last two; empty if there are always more."""
    rank = merges.get
    pairs = [*map(rank, pairwise(parts), repeat(NO_RANK))]
    while len(parts) > 2:
        lowest = min(pairs)
        if lowest == NO_RANK:
            return ()
        place = pairs.index(lowest)
        part = parts[place] = parts[place] + parts.pop(place + 1)
        del pairs[place]
        if place < len(pairs):
            pairs[place] = rank((part, parts[place + 1]), NO_RANK)
        if place:
            pairs[place - 1] = rank((parts[place - 1], part), NO_RANK)
    return parts[0], parts[1]
