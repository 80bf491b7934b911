"""Clients of MCP servers: the one of the official package, and one that only writes and reads lines."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import shlex
import subprocess
import sys
import threading
from base64 import b64decode
from concurrent.futures import Future
from typing import TYPE_CHECKING

import pytest

from tests.support import hidden_failures
from tests.support.marks import HANDLE
from tests.support.program import IMPORT_PATH
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap.mcp.media import image_in, image_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIMEOUT_SECONDS = 60
SERVER = ("-m", "tokcap", "mcp")


def variables(data: Path) -> dict[str, str]:
    """The environment of a server with its own data directory."""
    return {"TOKCAP_DATA_DIR": str(data), "HOME": str(data), "PYTHONPATH": IMPORT_PATH}


class Answer:
    """The result of a tool, as a client has got it."""

    def __init__(self, content: Sequence[Mapping], structured: Mapping | None, *, is_error: bool) -> None:
        self.content = content
        self.structured = structured
        self.is_error = is_error
        self.texts = [block["text"] for block in content if block["type"] == "text"]
        hidden_failures.look_at(*self.texts)

    @classmethod
    def of_result(cls, result: Mapping) -> Answer:
        return cls(
            result["content"], result.get("structuredContent"), is_error=bool(result.get("isError", False))
        )

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def code(self) -> str | None:
        """The stable code of an error."""
        found = re.match(r"([A-Z_]+): ", self.text)
        return found[1] if self.is_error and found else None

    @property
    def exit(self) -> int | None:
        """The exit status, read from the text as a model reads it."""
        found = re.findall(r"^\[exit (\d+)", self.text, re.MULTILINE)
        return int(found[-1]) if found else None

    @property
    def next_call(self) -> tuple[str, dict] | None:
        """The tool and the arguments of the next call, read from the text."""
        found = re.findall(r"\b(show|grep) (handle=.*?)\]?$", self.text, re.MULTILINE)
        if not found:
            return None
        tool, words = found[-1]
        return tool, dict(word.split("=", 1) for word in shlex.split(words))

    @property
    def handle(self) -> str:
        """The handle, read from the text."""
        return re.findall(rf"handle=({HANDLE})", self.text)[-1]

    @property
    def tokens(self) -> int:
        """The most tokens of all text that tiktoken counts: in each block, or in all of them joined."""
        apart = sum(recount(text.encode()) for text in self.texts)
        return max(apart, recount(self.text.encode()))


def read_by_model(result: Mapping, key: str = "content") -> int:
    """Count all that a model may read of a result: each piece, written in whatever way, and images."""
    tokens = 0
    for item in result[key]:
        block = item["content"] if key == "messages" and isinstance(item, dict) else item
        inner = block.get("resource", block) if isinstance(block, dict) else {}
        inner = inner if isinstance(inner, dict) else {}
        data = inner.get("data", inner.get("blob", ""))
        found = image_in(b64decode(data)) if data else None
        if found:
            tokens += image_tokens(*found[1], "cl100k_base")
        elif data and block.get("type") == "audio":
            tokens += len(data) * 3 // 4 // 64
        elif "text" in inner:
            tokens += recount(inner["text"].encode())
        else:
            tokens += recount_of_json(block)
    return tokens + sum(
        recount_of_json(result[key])
        for key in ("structuredContent", "description")
        if result.get(key) is not None
    )


def recount_of_json(value: object) -> int:
    written = (json.dumps(value, ensure_ascii=False, separators=each) for each in (None, (",", ":")))
    return max(recount(text.encode()) for text in written)


class Agent:
    """A session of the official client with its own server. A thread keeps it open."""

    def __init__(
        self, data: Path, *arguments: str, directory: Path | None = None, command: Sequence[str] = SERVER
    ) -> None:
        reason = "the package mcp is not installed: pip install '.[nightly]'"
        self._mcp = mcp = pytest.importorskip("mcp", reason=reason)
        self._server = mcp.StdioServerParameters(
            command=sys.executable, args=[*command, *arguments], env=variables(data), cwd=directory
        )
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over: asyncio.Event | None = None
        # Why the session did not begin.
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._held_open()])
        self.progress: list[str] = []

    async def _held_open(self) -> None:
        self._over = asyncio.Event()
        try:
            async with (
                self._mcp.stdio_client(self._server) as (reading, writing),
                self._mcp.ClientSession(reading, writing) as session,
            ):
                self.hello = as_json(await session.initialize())
                self.session = session
                self._ready.set()
                await self._over.wait()
        except ExceptionGroup as error:
            if hasattr(self, "session"):
                raise
            self._failure = error
        finally:
            self._ready.set()

    def __enter__(self) -> Agent:
        self._thread.start()
        assert self._ready.wait(TIMEOUT_SECONDS)
        if not hasattr(self, "session"):
            self._thread.join(TIMEOUT_SECONDS)
            self._loop.close()
        assert hasattr(self, "session"), f"the server did not start: {self._failure!r}"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(TIMEOUT_SECONDS)
        self._loop.close()

    def do(self, coroutine):
        """Run a coroutine of the session and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIMEOUT_SECONDS)

    def begin(self, name: str, **arguments: object) -> Future:
        """Start a call without waiting for its result."""

        async def called() -> Mapping:
            return as_json(await self.session.call_tool(name, arguments))

        return asyncio.run_coroutine_threadsafe(called(), self._loop)

    def call(self, name: str, **arguments: object) -> Answer:
        return answer_of(self.begin(name, **arguments))

    def ping(self) -> None:
        self.do(self.session.send_ping())

    def tools(self) -> dict[str, Mapping]:
        return {tool["name"]: tool for tool in as_json(self.do(self.session.list_tools()))["tools"]}


def as_json(result) -> Mapping:
    """A result of the official client as it was sent."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def answer_of(call: Future) -> Answer:
    return Answer.of_result(call.result(TIMEOUT_SECONDS))


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


# What every request of the newest revision says about itself.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
ENVELOPE = {VERSION_KEY: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Wire:
    """A client without any package: it writes and reads lines, also those that no client would send."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        command: Sequence[str] = SERVER,
        hello: Mapping | None = HELLO,
        **how,
    ) -> None:
        self.server = subprocess.Popen(
            [sys.executable, *command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **variables(data), **how.pop("env", {})},
            **how,
        )
        self._number = 0
        self._received = b""
        if hello is not None:
            self.hello = self.request("initialize", hello)["result"]
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send_line(self, line: str | bytes) -> None:
        self.server.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.server.stdin.flush()

    def send(self, message: object) -> None:
        self.send_line(json.dumps(message))

    def receive_line(self) -> bytes:
        # A buffered file may have lines that `select` does not know of.
        while b"\n" not in self._received:
            ready, _, _ = select.select([self.server.stdout], [], [], TIMEOUT_SECONDS)
            assert ready, "the server does not answer"
            block = os.read(self.server.stdout.fileno(), 1 << 16)
            assert block, "the server has ended"
            self._received += block
        line, _, self._received = self._received.partition(b"\n")
        return line + b"\n"

    def receive(self) -> dict:
        return json.loads(self.receive_line())

    def ask_line(self, line: str) -> dict:
        self.send_line(line)
        return self.receive()

    def begin(self, method: str, params: object) -> int:
        """Send a request without waiting for its answer, and return its id."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def request(self, method: str, params: object) -> dict:
        number = self.begin(method, params)
        answer = self.receive()
        assert answer["id"] == number
        return answer

    def begin_call(self, name: str, **arguments: object) -> int:
        return self.begin("tools/call", {"name": name, "arguments": arguments})

    def call(self, name: str, **arguments: object) -> Answer:
        answer = self.request("tools/call", {"name": name, "arguments": arguments})
        return Answer.of_result(answer["result"])

    def close(self) -> int:
        """Close the connection and return the exit status of the server."""
        try:
            self.server.stdin.close()
        except BrokenPipeError:
            pass
        status = self.server.wait(TIMEOUT_SECONDS)
        for stream in (self.server.stdout, self.server.stderr):
            if stream:
                stream.close()
        return status

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Call(Future):
    """A request without an answer yet. Cancelling it tells the server."""

    def __init__(self, wire: Wire, number: int) -> None:
        super().__init__()
        self._wire, self._number = wire, number

    def cancel(self) -> bool:
        params = {"requestId": self._number}
        self._wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        return super().cancel()


class LineAgent:
    """Does what `Agent` does, without the official package: a thread reads all answers."""

    def __init__(self, data: Path, *arguments: str, directory: Path | None = None) -> None:
        self._wire = Wire(data, *arguments, hello=None, cwd=directory)
        self._calls: dict[int, Call] = {}
        self._number = 0
        self._thread = threading.Thread(target=self._read)

    def _read(self) -> None:
        for line in self._wire.server.stdout:
            answer = json.loads(line)
            call = self._calls.pop(answer["id"])
            if call.set_running_or_notify_cancel():
                call.set_result(answer["result"])

    def _begin(self, method: str, params: object) -> Call:
        self._number += 1
        # The answer may be there before `send` returns.
        call = self._calls[self._number] = Call(self._wire, self._number)
        self._wire.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return call

    def __enter__(self) -> LineAgent:
        self._thread.start()
        self.hello = self._begin("initialize", HELLO).result(TIMEOUT_SECONDS)
        self._wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.server.stdin.close()
        self._thread.join(TIMEOUT_SECONDS)
        self._wire.close()

    def begin(self, name: str, **arguments: object) -> Call:
        return self._begin("tools/call", {"name": name, "arguments": arguments})

    def call(self, name: str, **arguments: object) -> Answer:
        return answer_of(self.begin(name, **arguments))

    def ping(self) -> None:
        self._begin("ping", {}).result(TIMEOUT_SECONDS)

    def tools(self) -> dict[str, Mapping]:
        return {tool["name"]: tool for tool in self._begin("tools/list", {}).result(TIMEOUT_SECONDS)["tools"]}


# The official client proves that real clients understand the server.
CLIENTS = (LineAgent, as_nightly(Agent))
