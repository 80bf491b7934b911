"""One connection to a Redis server: its protocol over a socket, and nothing of what tokcap does with it.

A package for this would take ten times as long to import as all of a call takes otherwise. `ssl` is loaded
only for an encrypted connection.
"""

from __future__ import annotations

import socket
import time

from tokcap.errors import LedgerError, LedgerUnreachable
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
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
        word = str(self).partition(" ")[0]
        return NO_PASSWORD if UNAUTHENTICATED in str(self) else word if word.isupper() else "ERR"


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
                self.calls([["AUTH", *login, address.password]], timeout_seconds)
            if address.database:
                self.calls([["SELECT", str(address.database)]], timeout_seconds)
        except BaseException:
            self.close()
            raise

    def calls(self, commands: Sequence[Sequence[str]], timeout_seconds: float) -> list[Reply]:
        """Send commands and return their answers; raise `RedisError` if one of them is an error."""
        self._deadline = time.monotonic() + timeout_seconds
        try:
            self._socket.settimeout(self._left_seconds())
            self._socket.sendall(b"".join(map(command, commands)))
            replies = [self._read() for _ in commands]
        except OSError as error:
            raise self._lost(error) from None
        for reply in replies:
            if isinstance(reply, RedisError):
                raise reply
        return replies

    def close(self) -> None:
        self._socket.close()

    def _opened(self, address: Address) -> socket.socket:
        if address.path:
            plain = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        else:
            # As text, the name would go through a codec that loads `re` and tables: a fifth of a call.
            host = address.host.encode() if address.host.isascii() else address.host
            plain = socket.create_connection((host, address.port), self._left_seconds())  # type: ignore[arg-type]  # bytes work
        try:
            if address.path:
                plain.settimeout(self._left_seconds())
                plain.connect(address.path)
                return plain
            # A step is one small packet, which must not wait for a second one.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return self._encrypted(plain, address) if address.is_encrypted else plain
        except BaseException:
            plain.close()
            raise

    def _encrypted(self, plain: socket.socket, address: Address) -> socket.socket:
        import ssl

        context = ssl.create_default_context(cafile=address.ca_file or None)
        try:
            return context.wrap_socket(plain, server_hostname=address.host)
        except ssl.SSLCertVerificationError as error:
            raise LedgerError(f"{self._title}: the certificate is refused: {error.verify_message}") from None

    def _left_seconds(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

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
        self._socket.settimeout(self._left_seconds())
        data = self._socket.recv(READ_BYTES)
        if not data:
            raise ConnectionResetError("it closed the connection")
        self._received += data

    def _lost(self, error: OSError) -> LedgerUnreachable:
        if isinstance(error, TimeoutError):
            return LedgerUnreachable(f"{self._title} does not answer in time")
        problem = error.strerror or "it closed the connection"
        return LedgerUnreachable(f"{self._title} cannot be reached: {problem}")


def command(words: Sequence[str]) -> bytes:
    """Return a command as the server reads it: the number of words, then each of them after its length."""
    text = "".join([f"${len(word)}\r\n{word}\r\n" for word in words])
    if text.isascii():
        return f"*{len(words)}\r\n{text}".encode()
    found = [word.encode("utf-8", "surrogateescape") for word in words]
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(data), data) for data in found])


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
