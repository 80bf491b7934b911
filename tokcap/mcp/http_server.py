"""A server that is reached over streamable HTTP. The client of the package `mcp` speaks to it.

No other module imports that package.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    find_invalid_x_mcp_header,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from tokcap import exits
from tokcap.errors import UsageError
from tokcap.mcp.messages import INTERNAL_ERROR, VERSION_KEY, meta_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Without a handler, Python writes warnings of the package, with tracebacks, to stderr.
logging.getLogger("mcp").addHandler(logging.NullHandler())

CONNECT_SECONDS = 30.0
# How long to wait at the end until the server has forgotten the session.
END_SECONDS = 1.0
LONGEST_REASON_CHARACTERS = 300
NAME = re.compile(r"[A-Za-z0-9-]+")
VARIABLE = re.compile(r"\$\{(\w+)\}")


class HttpServer:
    """A session with a server, in a thread with an event loop."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        """Raise `UsageError` if it is not a URL of a server."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"--url: {url!r} is not a URL such as https://example.com/mcp")
        if parts.username is not None:
            raise UsageError("--url: a password in a URL is not supported; use --header")
        self._url = url
        self._headers = headers
        self._version: str | None = None
        # Which arguments of a tool a modern request repeats as headers, by the name of the tool.
        self._parameters: dict[str, Any] = {}
        self._status = exits.OK
        self._loop = asyncio.new_event_loop()
        # Lines of the client; None: it has gone.
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()

    def start(self, receive: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        def serve() -> None:
            try:
                self._loop.run_until_complete(self._serve(receive))
            except Exception as error:
                # An error in the package itself: failures of HTTP are answers to their requests.
                self._status = exits.OWN_FAILURE
                sys.stderr.write(f"tokcap: mcp wrap: the connection failed: {type(error).__name__}\n")
            finally:
                on_end()

        self._thread = threading.Thread(target=serve, name="tokcap.mcp.http", daemon=True)
        self._thread.start()

    def send(self, line: bytes) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def finish(self) -> int:
        """Tell the server that the session has ended."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
            self._thread.join(END_SECONDS)
        return self._status

    def stop(self, _number: int) -> None:
        self.finish()

    async def _serve(self, receive: Callable[[bytes], None]) -> None:
        # A tool may take longer than it takes to connect.
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=None)
        async with (
            Client(headers=self._headers, timeout=timeout) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=None) as (source, sink),
        ):

            async def pass_on() -> None:
                async for found in source:
                    if not isinstance(found, Exception):
                        self._note(found.message)
                        receive(found.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

            passing = asyncio.create_task(pass_on())
            while (line := await self._lines.get()) is not None:
                for message in messages_in(line):
                    metadata = ClientMessageMetadata(headers=self._headers_of(message))
                    await sink.send(SessionMessage(message, metadata))
            passing.cancel()

    def _note(self, message: Any) -> None:
        """Note what later requests repeat as headers: the version that was agreed on, and some arguments."""
        if not isinstance(message, JSONRPCResponse):
            return
        version, tools = message.result.get("protocolVersion"), message.result.get("tools")
        self._version = version if isinstance(version, str) else self._version
        for tool in tools if isinstance(tools, list) else ():
            schema = tool.get("inputSchema") if isinstance(tool, dict) else None
            if schema is not None and find_invalid_x_mcp_header(schema) is None:
                self._parameters[str(tool.get("name"))] = x_mcp_header_map(schema)

    def _headers_of(self, message: Any) -> dict[str, str] | None:
        """Return what the headers of a request repeat of it. A modern request says all of it itself."""
        params = (isinstance(message, JSONRPCRequest) and message.params) or {}
        version = meta_of(params).get(VERSION_KEY)
        if not isinstance(version, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else None
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: message.method}
        name = params.get(NAME_BEARING_METHODS.get(message.method))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        arguments = params.get("arguments")
        if name in self._parameters and isinstance(arguments, dict):
            headers |= mcp_param_headers(self._parameters[name], arguments)
        return headers


class Client(httpx2.AsyncClient):  # type: ignore[misc]  # the package is optional, so its types are not known
    """A client that turns failures of HTTP into errors of the protocol, with which a request is answered."""

    async def send(self, request: Any, **options: Any) -> Any:
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            return failure(request, f"the server cannot be reached: {error or type(error).__name__}")
        is_json = response.headers.get("content-type", "").startswith("application/json")
        if request.method != "POST" or response.status_code < 400 or is_json:
            return response
        reason = (await response.aread()).decode("utf-8", "replace").strip()[:LONGEST_REASON_CHARACTERS]
        status = f"HTTP status {response.status_code} {response.reason_phrase}"
        return failure(request, f"{status}: {reason}".rstrip(": "))


def failure(request: Any, problem: str) -> Any:
    error = {"code": INTERNAL_ERROR, "message": problem}
    return httpx2.Response(500, request=request, json={"jsonrpc": "2.0", "id": None, "error": error})


def messages_in(line: bytes) -> Iterable[Any]:
    """Yield the messages of a line. What is not a message is dropped: the protocol has no answer to it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    for each in value if isinstance(value, list) else [value]:
        try:
            yield jsonrpc_message_adapter.validate_python(each, by_name=False)
        except ValueError:
            continue


def headers_of(given: Iterable[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return headers by name; `UsageError` for one that cannot be sent.

    Each is `Name: value`, where `${NAME}` is the value of a variable. A secret is then not in the list of
    processes.
    """
    headers: dict[str, str] = {}
    for line in given:
        name, colon, value = line.partition(":")
        name = name.strip()
        try:
            value = VARIABLE.sub(lambda found: variables[found[1]], value.strip())
        except KeyError as error:
            raise UsageError(f"--header: the variable {error.args[0]} is not set") from None
        # A line may be a secret, so it is not shown.
        if not colon or not NAME.fullmatch(name):
            raise UsageError("--header: 'Name: value' is expected")
        if not value.isprintable() or not value.isascii():
            raise UsageError(f"--header: the value of {name} has characters that cannot be sent")
        headers[name] = value
    return headers
