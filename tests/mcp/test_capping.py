"""The law of the proxy: all that a model may read of a result recounts to at most the limit."""

from __future__ import annotations

import json
import re
from base64 import b64encode

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import fake_mcp_server as fake
from tests.support.marks import HANDLE
from tests.support.mcp_client import read_by_model
from tests.support.tiers import examples
from tokcap.mcp.capping import Capper
from tokcap.mcp.media import blobs_in, image_in, image_tokens
from tokcap.mcp.settings import Hold, ServerSettings

TEXTS = (
    st.text(max_size=200)
    | st.integers(0, 150).map(fake.lines)
    | st.integers(0, 60).map(lambda count: json.dumps(fake.document(count)))
    | st.integers(0, 500).map(lambda count: "x" * count)
)
RESOURCES = st.builds(lambda text: {"uri": "file:///x", "text": text}, TEXTS) | st.sampled_from(
    [fake.BINARY["resource"], fake.READ["image"], {"uri": "file:///" + "y" * 999, "blob": "AAAA"}, {}, 5]
)
IMAGES = st.builds(fake.image, st.integers(1, 4000), st.integers(1, 4000))
OTHERS = st.sampled_from([fake.AUDIO, fake.LINK, {"type": "image", "data": "no base64 " * 99}, {}, 5])
BLOCKS = (
    TEXTS.map(fake.text)
    | RESOURCES.map(lambda resource: {"type": "resource", "resource": resource})
    | IMAGES
    | OTHERS
)
MESSAGES = BLOCKS.map(lambda block: {"role": "user", "content": block}) | st.just(5)
CONTENT = {"content": BLOCKS, "contents": RESOURCES, "messages": MESSAGES}


@st.composite
def documents(draw, depth: int = 3) -> tuple[dict, object]:
    """A schema and a value that is valid by it."""
    kinds = ["text", "number", "choice", "pattern"] + ["list", "object", "either"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))
    if kind == "number":
        return {"type": "number"}, draw(st.integers(0, 10**9))
    if kind == "choice":
        return {"enum": ["red", "green"]}, "red"
    if kind == "pattern":
        return {"type": "string", "pattern": "^a+$"}, "a" * draw(st.integers(1, 60))
    if kind == "text":
        text = draw(TEXTS)
        return {"type": "string", "minLength": draw(st.integers(0, len(text)))}, text
    schema, value = draw(documents(depth - 1))
    if kind == "list":
        values = [value] * draw(st.integers(0, 40))
        return {
            "type": "array",
            "items": schema,
            "minItems": draw(st.integers(0, min(len(values), 3))),
        }, values
    if kind == "either":
        return {draw(st.sampled_from(["anyOf", "oneOf"])): [{"type": "null"}, schema]}, value
    return draw(objects(depth - 1))


@st.composite
def objects(draw, depth: int = 3) -> tuple[dict, dict]:
    members = draw(st.dictionaries(st.sampled_from("abcdef"), documents(depth), max_size=4))
    schema = {
        "type": "object",
        "properties": {name: schema for name, (schema, _) in members.items()},
        "required": draw(st.lists(st.sampled_from([*members]), unique=True)) if members else [],
        "additionalProperties": draw(st.booleans()),
    }
    extra = {f"more{number}": number for number in range(draw(st.integers(0, 30)))}
    values = {name: value for name, (_, value) in members.items()}
    return schema, {**values, **(extra if schema["additionalProperties"] else {})}


def capper(limit: int, **changes: object) -> Capper:
    return Capper(
        ServerSettings(limit, "cl100k_base", clean=False, redact=False, max_bytes=1 << 20).replace(**changes)
    )


def said(result: dict, key: str) -> str:
    """What a model reads of a result, without blanks. A block of any kind may become a text with its JSON."""
    items = [item if isinstance(item, dict) else {"": item} for item in result[key]]
    blocks = [item["content"] if isinstance(item.get("content"), dict) else item for item in items]
    structured = [result["structuredContent"]] if "structuredContent" in result else []
    texts = [
        block["text"]
        if isinstance(block.get("text"), str)
        else json.dumps(block.get("", block), ensure_ascii=False)
        for block in (*blocks, *structured)
    ]
    return re.sub(r"\s+", "", "".join(texts))


@examples(60)
@given(
    data=st.data(),
    limit=st.integers(1, 400) | st.integers(1000, 6000),
    keep=st.sampled_from(["auto", "head"]),
)
def test_everything_recounts_to_at_most_the_limit_and_stays_valid(data, limit, keep, with_store):
    key = data.draw(st.sampled_from([*CONTENT]))
    result = {key: data.draw(st.lists(CONTENT[key], max_size=5)), "_meta": {"a": 1}, "isError": False}
    schema, known = False, False
    if key == "content" and data.draw(st.booleans()):
        schema, result["structuredContent"] = data.draw(objects())
        known = data.draw(st.sampled_from([schema, schema, None, False]))
    capped, cost = capper(limit, keep=keep).result(key, result, Hold(limit), known)
    shown = result if capped is None else capped
    assert shown["_meta"] == {"a": 1}
    assert read_by_model(shown, key) <= cost <= limit
    if known is schema is not False and not shown["isError"]:
        jsonschema.Draft202012Validator(schema).validate(shown["structuredContent"])
    # Nothing that is cut is silent. Blanks of JSON are not worth a mark.
    assert (
        limit < 100
        or re.search(rf"show .*{HANDLE}", json.dumps(shown))
        or said(shown, key) == said(result, key)
    )


@pytest.mark.parametrize(
    ("tokenizer", "size", "tokens"),
    [
        # The examples of the makers.
        ("claude", (1000, 1000), 1296),
        ("claude", (200, 200), 64),
        ("claude", (8000, 8000), 4784),
        ("gemini-2.5", (960, 540), 516),
        ("o200k_base", (1024, 1024), 1024),
        ("o200k_base", (600, 400), 425),
        ("cl100k_base", (1000, 1000), 1296),
    ],
)
def test_the_formulas_of_the_makers_count_images(tokenizer, size, tokens):
    assert image_tokens(*size, tokenizer) == tokens


VP8 = b"\x9d\x01\x2a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")
LOSSLESS = (639 | 479 << 14).to_bytes(4, "little")
EXIF = b"\xff\xe1" + (60_002).to_bytes(2) + b"\xff\xc0" * 30_000


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("png", fake.png(640, 480)),
        ("gif", b"GIF89a" + (640).to_bytes(2, "little") + (480).to_bytes(2, "little")),
        (
            "jpeg",
            b"\xff\xd8" + EXIF + b"\xff\xff\xc2\0\x11\x08" + (480).to_bytes(2) + (640).to_bytes(2) + b"\3",
        ),
        ("webp", b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0" + VP8),
        ("webp", b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + LOSSLESS),
        (
            "webp",
            b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0"
            + (639).to_bytes(3, "little")
            + (479).to_bytes(3, "little"),
        ),
    ],
)
def test_width_and_height_are_read_from_the_header(kind, data):
    assert image_in(data) == (f"image/{kind}", (640, 480))
    for size in range(len(data) if len(data) < 100 else 30):
        image_in(data[:size])


def wrapped(data: bytes, width: int) -> str:
    text = b64encode(data).decode()
    return "\n".join(text[place : place + width] for place in range(0, len(text), width))


@pytest.mark.parametrize(
    "text",
    [
        b64encode(fake.png(640, 480)).decode(),
        b64encode(fake.png(640, 480), b"-_").decode().rstrip("="),
        "data:image/png;charset=x;base64," + b64encode(fake.png(640, 480)).decode(),
        wrapped(fake.png(640, 480), 76),
        wrapped(fake.png(640, 480), 64) + "\n",
    ],
)
def test_base64_is_found_in_a_text(text):
    [(blob, media)] = blobs_in(f"before {text} after", "claude")
    assert text.strip() == blob
    assert media.words() == "image/png 640x480, 20 KB, about 414 tokens"


@pytest.mark.parametrize(
    "text", ["x" * 9000, "/usr/lib/python3/a_b" * 99, "0123456789abcdef" * 99, "wordWord1 " * 99]
)
def test_other_long_words_are_not_taken_for_base64(text):
    assert not [*blobs_in(text, "claude")]
