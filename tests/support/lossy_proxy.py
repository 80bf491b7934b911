"""A connection to a server that loses answers: the step is done, and its caller does not learn it."""

from __future__ import annotations

import random
import socket
import threading


class LossyProxy:
    """Passes bytes on in both directions, and cuts a connection instead of passing on some of the answers."""

    def __init__(self, port: int, seed: int, spared: int, lost: float = 0.3) -> None:
        """Lose none of the first answers of each connection, the `spared` ones: they only log in."""
        self._port = port
        self._chance = random.Random(seed)
        self._lost = lost
        self._spared = spared
        self.losses = 0
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(near,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, near: socket.socket) -> None:
        with near, socket.create_connection(("127.0.0.1", self._port)) as far:
            back = threading.Thread(target=self._pass_on, args=(far, near, True), daemon=True)
            back.start()
            self._pass_on(near, far, False)
            back.join()

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
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        """End all connections. Whoever uses one has to close it first."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()
