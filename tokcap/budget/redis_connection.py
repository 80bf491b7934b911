"""One connection to a Redis server: its protocol over a socket, and nothing of what tokcap does with it.

A package for this would take ten times as long to import as all of a call takes otherwise. Only `_socket` is
loaded, and `ssl` for an encrypted connection.
"""

from __future__ import annotations

import _socket
import time

from tokcap.errors import LedgerError, LedgerUnreachable
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket
    from typing import TypeAlias

    Reply: TypeAlias = "str | int | list[Reply] | RedisError | None"

READ_BYTES = 1 << 16
END = b"\r\n"
# The code for a missing password, and a word of another message that means the same.
NO_PASSWORD, UNAUTHENTICATED = "NOAUTH", "unauthenticated"


class RedisError(Exception):
    """An error that the server has answered with. The first word of its text is a code."""

    @property
    def code(self) -> str:
        # Before a password, a server refuses a call of more than ten words by its form.
        return NO_PASSWORD if UNAUTHENTICATED in str(self) else str(self).partition(" ")[0]


class Address(Record):
    """Where a server is, and who asks."""

    title: str
    host: str
    port: int
    # The path of a Unix socket; empty: use host and port.
    path: str
    database: int
    user: str
    password: str
    is_encrypted: bool
    # A file with certificates to trust; empty: those of the system.
    ca_file: str


class RedisConnection:
    """An open connection. After any error but `RedisError` it must be closed."""

    def __init__(self, address: Address, timeout_seconds: float) -> None:
        self._title = address.title
        self._received = b""
        self._deadline = time.monotonic() + timeout_seconds
        try:
            self._socket = self._opened(address)
        except OSError as error:
            raise self._lost(error) from None
        try:
            if address.password:
                login = [address.user] if address.user else []
                self.call(["AUTH", *login, address.password], timeout_seconds)
            if address.database:
                self.call(["SELECT", str(address.database)], timeout_seconds)
        except BaseException:
            self.close()
            raise

    def call(self, words: Sequence[str], timeout_seconds: float) -> Reply:
        """Send one command and return the answer; raise `RedisError` if that is an error."""
        self._deadline = time.monotonic() + timeout_seconds
        try:
            self._wait_at_most()
            self._socket.sendall(command(words))
            reply = self._read()
        except OSError as error:
            raise self._lost(error) from None
        if isinstance(reply, RedisError):
            raise reply
        return reply

    def close(self) -> None:
        self._socket.close()

    def _opened(self, address: Address) -> _socket.socket | socket:
        if address.path:
            plain = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            plain.settimeout(self._left_seconds())
            plain.connect(address.path)
            return plain
        problem = OSError("no address")
        # As text, the name would go through a codec that loads `re` and tables: a fifth of the whole call.
        host = address.host.encode() if address.host.isascii() else address.host
        for family, kind, protocol, _, place in _socket.getaddrinfo(
            host, address.port, 0, _socket.SOCK_STREAM
        ):
            plain = _socket.socket(family, kind, protocol)
            try:
                plain.settimeout(self._left_seconds())
                plain.connect(place)
                # A step is one small packet, which must not wait for a second one.
                plain.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
                return self._encrypted(plain, address) if address.is_encrypted else plain
            except OSError as error:
                plain.close()
                problem = error
        raise problem

    def _encrypted(self, plain: _socket.socket, address: Address) -> socket:
        import socket
        import ssl

        context = ssl.create_default_context(cafile=address.ca_file or None)
        whole = socket.socket(fileno=plain.detach())
        try:
            whole.settimeout(self._left_seconds())
            return context.wrap_socket(whole, server_hostname=address.host)
        except ssl.SSLCertVerificationError as error:
            whole.close()
            raise LedgerError(f"{self._title}: the certificate is refused: {error.verify_message}") from None
        except BaseException:
            whole.close()
            raise

    def _left_seconds(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _wait_at_most(self) -> None:
        self._socket.settimeout(self._left_seconds())

    def _read(self) -> Reply:
        """Read one answer: a line that begins with its kind, and what follows for some kinds."""
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return decoded(rest)
        if kind == b"-":
            return RedisError(decoded(rest))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else decoded(self._take(length + len(END))[:length])
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        raise LedgerError(f"{self._title} is not a Redis server")

    def _line(self) -> bytes:
        while (end := self._received.find(END)) < 0:
            self._receive()
        line, self._received = self._received[:end], self._received[end + len(END) :]
        return line

    def _take(self, length: int) -> bytes:
        while len(self._received) < length:
            self._receive()
        data, self._received = self._received[:length], self._received[length:]
        return data

    def _receive(self) -> None:
        self._wait_at_most()
        data = self._socket.recv(READ_BYTES)
        if not data:
            raise ConnectionResetError("it closed the connection")
        self._received += data

    def _lost(self, error: OSError) -> LedgerUnreachable:
        if isinstance(error, TimeoutError):
            return LedgerUnreachable(f"{self._title} does not answer in time")
        return LedgerUnreachable(f"{self._title} cannot be reached: {error.strerror or error}")


def command(words: Sequence[str]) -> bytes:
    """Return a command as the server reads it: the number of words, then each of them after its length."""
    text = "".join([f"${len(word)}\r\n{word}\r\n" for word in words])
    if text.isascii():
        return f"*{len(words)}\r\n{text}".encode()
    found = [word.encode("utf-8", "surrogateescape") for word in words]
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(data), data) for data in found])


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
