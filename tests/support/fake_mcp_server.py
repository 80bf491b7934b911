"""An MCP server for the tests of the proxy. Its tools do what real servers do, and what they should not do.

`python -m tests.support.fake_mcp_server [LOG]` speaks over stdin and stdout. LOG gets all that it reads.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from random import Random


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def png(width: int, height: int, size: int = 20_000) -> bytes:
    """The header of an image, and something behind it."""
    sizes = width.to_bytes(4) + height.to_bytes(4)
    return b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + sizes + Random(size).randbytes(size)


def image(width: int, height: int) -> dict:
    return {"type": "image", "data": base64(png(width, height)), "mimeType": "image/png"}


AUDIO = {"type": "audio", "data": base64(b"RIFF" + Random(1).randbytes(200_000)), "mimeType": "audio/wav"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///x", "text": "embedded \n" * 2000}}
BINARY = {"type": "resource", "resource": {"uri": "file:///z", "blob": base64(Random(2).randbytes(5000))}}
LINK = {"type": "resource_link", "uri": "file:///y", "name": "y", "description": "linked " * 2000}
# What each content is in the results of resources and prompts.
READ = {"text": RESOURCE["resource"], "image": {"uri": "file:///i", "blob": base64(png(9000, 9000))}}
SCHEMA = {
    "type": "object",
    "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
    "required": ["rows"],
    "additionalProperties": False,
    "$defs": {
        "row": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
            "required": ["id"],
        }
    },
}


def text(value: str, **more: object) -> dict:
    return {"type": "text", "text": value, **more}


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


def document(count: int) -> list:
    return [{"id": number, "name": f"item {number}"} for number in range(count)]


def result_of(name: str, arguments: dict) -> dict:
    """Return the result of a tool that only answers."""
    count = arguments.get("count", 3000)
    rows = document(count)
    results = {
        "text": {"content": [text(lines(count))]},
        "json": {"content": [text(json.dumps(rows))]},
        "echo": {"content": [text(arguments.get("text", ""))]},
        "blocks": {"content": [text(each) for each in arguments.get("texts", ())]},
        "mixed": {
            "content": [
                text("before\n", annotations={"priority": 1}),
                image(50, 40),
                text(lines(count), _meta={"a": 1.5}),
                text("after\n"),
            ],
            "_meta": {"kept": True},
        },
        "image": {"content": [image(arguments.get("side", 9000), 100)] * arguments.get("images", 1)},
        "audio": {"content": [AUDIO]},
        "resource": {"content": [RESOURCE]},
        "binary": {"content": [BINARY]},
        "link": {"content": [LINK]},
        "long_name": {"content": [{**LINK, "uri": "file:///" + "y" * 9000, "mimeType": "m" * 9000}]},
        "blob": {"content": [text(json.dumps({"a/b": [1.50, base64(png(640, 480))], "c": 1e3}))]},
        "line_blob": {"content": [text(f"see ![](data:image/png;base64,{base64(png(640, 480))}) here")]},
        "structured": {
            "content": [text(json.dumps({"rows": rows}))],
            "structuredContent": {"rows": rows},
        },
        "only_structured": {"content": [], "structuredContent": {"rows": rows}},
        "other_structured": {"content": [text(f"{count} rows\n")], "structuredContent": {"rows": rows}},
        "wrapped": {"content": [text(lines(count))], "structuredContent": {"result": lines(count)}},
        "failing": {"content": [text("it failed\n" + lines(count))], "isError": True},
        "secret": {
            "content": [text("token ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3\n")],
            "structuredContent": {"token": "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"},
        },
        "strange": {"content": "no list", "more": [1, 2.50, 12345678901234567890123]},
    }
    return results[name]


TOOLS = (
    *("text", "json", "echo", "blocks", "mixed", "structured", "only_structured", "other_structured"),
    *("wrapped", "failing", "secret", "strange", "ask", "notify", "crash", "error", "deep", "huge"),
    *("image", "audio", "resource", "binary", "link", "long_name", "blob", "line_blob"),
)
PAGE = 7


def send(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number: object, result: object) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": result})


def listed(cursor: str | None) -> dict:
    first = int(cursor or 0)
    tools = [
        {
            "name": name,
            "inputSchema": {"type": "object"},
            **({"outputSchema": SCHEMA} if "structured" in name else {}),
        }
        for name in TOOLS[first : first + PAGE]
    ]
    more = {"nextCursor": str(first + PAGE)} if first + PAGE < len(TOOLS) else {}
    return {"tools": tools, **more}


def call(number: object, name: str, arguments: dict) -> None:
    if name == "ask":
        # A request of the server, between the request and the answer of the client.
        send({"jsonrpc": "2.0", "id": {"odd": [1]}, "method": "sampling/createMessage", "params": {"x": "y"}})
        reply = sys.stdin.readline()
        answer(number, {"content": [text(reply)]})
    elif name == "notify":
        for step in range(3):
            params = {"progressToken": "p", "progress": step}
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        sys.stdout.write("this is not JSON\n\n")
        answer(number, {"content": [text("done")]})
    elif name == "crash":
        sys.stdout.write('{"jsonrpc":"2.0","id":')
        sys.stdout.flush()
        os._exit(arguments.get("status", 7))
    elif name == "error":
        problem = {"code": -32000, "message": "no such row\n" + lines(3000), "data": document(3000)}
        send({"jsonrpc": "2.0", "id": number, "error": problem})
    elif name in ("deep", "huge"):
        deep = "[" * 5000 + "1" + "]" * 5000 if name == "deep" else "[1E400]"
        result = f'{{"content":[],"structuredContent":{deep}}}'
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{json.dumps(number)},"result":{result}}}\n')
        sys.stdout.flush()
    else:
        answer(number, result_of(name, arguments))


def take(message: dict) -> None:
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        answer(
            number,
            {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}, "prompts": {}, "logging": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            },
        )
    elif method == "tools/list":
        answer(number, listed(params.get("cursor")))
    elif method in ("tools/call", "tasks/result"):
        call(number, params["name"], params.get("arguments") or {})
    elif method == "resources/read" and params.get("uri") in READ:
        answer(number, {"contents": [READ[params["uri"]]], "ttlMs": 5})
    elif method == "resources/read":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32002, "message": "missing " * 3000}})
    elif method == "prompts/get":
        messages = [
            {"role": "user", "content": each} for each in (text(lines(3000)), RESOURCE, image(9000, 9000))
        ]
        answer(number, {"messages": messages, "description": "described " * 3000})
    elif "id" in message and method:
        # Whatever it is: the same again, so that a test sees whether it was changed on the way.
        answer(number, {"method": method, "params": params, "lines": lines(3000)})


def main() -> None:
    log = open(sys.argv[1], "ab", buffering=0) if len(sys.argv) > 1 else None  # noqa: SIM115  # until the end
    print("the fake server is ready", file=sys.stderr, flush=True)
    for line in sys.stdin:
        if log:
            log.write(line.encode())
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, list):
            for each in message:
                take(each)
        elif isinstance(message, dict):
            take(message)
    sys.exit(5)


if __name__ == "__main__":
    main()
