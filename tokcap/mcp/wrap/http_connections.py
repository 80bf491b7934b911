"""Connections to one HTTP server, kept open for the next request. Any thread may use them."""

from __future__ import annotations

import http.client
import threading
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from tokcap.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_SECONDS = 30
MOST_REDIRECTS = 3
# What a request meets on a connection that the server has closed while it was idle.
CLOSED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)
# These keep the method and the body.
REDIRECTS = (307, 308)


class Connections:
    """Sends requests to a URL."""

    def __init__(self, url: str) -> None:
        """Raise `UsageError` if it is not a URL of a server."""
        self._url = url
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise UsageError(f"--url: {url!r} is not a URL such as https://example.com/mcp")
        if parts.username is not None:
            raise UsageError("--url: a password in a URL is not supported; use --header")
        self._origin = (parts.scheme, parts.hostname, port)
        self._path = parts.path or "/"
        if parts.query:
            self._path += f"?{parts.query}"
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def request(
        self, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Return the connection and the response, of which only the head is read. Raise `OSError`."""
        for _ in range(MOST_REDIRECTS):
            connection, response = self._once(method, headers, body)
            place = response.getheader("Location")
            if response.status not in REDIRECTS or not place:
                return connection, response
            response.read()
            self.done(connection, response)
            self._follow(place)
        raise OSError(f"{self._url}: too many redirects")

    def done(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        """Keep a connection for the next request if its response was read to the end."""
        if response.isclosed() and not response.will_close:
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()

    def _once(
        self, method: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            connection = kept or self._connect()
            try:
                connection.request(method, self._path, body, dict(headers))
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if kept is not None and isinstance(error, CLOSED):
                    # The server has closed it meanwhile, and has not seen the request.
                    continue
                if isinstance(error, OSError):
                    raise
                raise OSError(f"not an HTTP answer: {type(error).__name__}") from None
            # From now on the server may take its time.
            if connection.sock is not None:
                connection.sock.settimeout(None)
            return connection, response

    def _connect(self) -> http.client.HTTPConnection:
        scheme, host, port = self._origin
        if scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        else:
            import ssl

            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=context)
        connection.connect()
        # A tool may take longer than it takes to connect.
        connection.sock.settimeout(None)
        return connection

    def _follow(self, place: str) -> None:
        """Go to another path of the same server. Headers with secrets are sent to no other one."""
        parts = urlsplit(urljoin(self._url, place))
        scheme, host, port = self._origin
        if (parts.scheme, parts.hostname, parts.port) != (scheme, host, port):
            raise OSError(f"redirected to another server: {place}")
        self._path = parts.path + (f"?{parts.query}" if parts.query else "")
