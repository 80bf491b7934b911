"""A connection to a server that can be cut and mended, and that may lose answers."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Link:
    """Passes bytes on in both directions.

    With `lost`, it cuts a connection instead of passing on some of the answers: the step is done, and its
    caller does not learn it. The first answers of each connection, the `spared` ones, only log in.
    """

    def __init__(self, port: int, *, seed: int = 0, lost: float = 0.0, spared: int = 0) -> None:
        self._server_port = port
        self._chance = random.Random(seed)
        self._lost, self._spared = lost, spared
        self.losses = 0
        self._is_up = True
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """End all connections, and refuse new ones."""
        self._is_up = False
        for each in self._sockets:
            shut(each)

    def mend(self) -> None:
        self._is_up = True

    def close(self) -> None:
        self.cut()
        shut(self._listener)
        self._listener.close()
        for thread in self._threads:
            thread.join()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(near)
            try:
                if not self._is_up:
                    raise OSError
                far = socket.create_connection(("127.0.0.1", self._server_port))
            except OSError:
                shut(near)
                continue
            self._sockets.append(far)
            for ends in ((near, far, False), (far, near, True)):
                self._threads.append(threading.Thread(target=self._pass_on, args=ends, daemon=True))
                self._threads[-1].start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        answers = 0
        try:
            while block := source.recv(1 << 16):
                answers += is_answer
                if answers > self._spared and self._chance.random() < self._lost:
                    self.losses += 1
                    break
                target.sendall(block)
        except OSError:
            pass
        shut(source)
        shut(target)


def shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Listen at a port for one connection, and answer what it sends with this."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer_once() -> None:
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(answer)
        connection.close()

    thread = threading.Thread(target=answer_once)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()
