"""A real S3 server on loopback, hosts that share it, and a link to it that counts, hangs and breaks."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import pytest

from tests.support.engines import free_port
from tests.support.links import shut

SECRET = "a-very-secret-key"
REQUEST = re.compile(rb"(?:\A|\n)(GET|PUT|POST|HEAD|DELETE) (/[^ ]*) HTTP/1\.1\r\n")


class S3Server:
    """The S3 of moto. It keeps everything in memory, and ends with the test run."""

    def __init__(self) -> None:
        self.port = free_port()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the server
        program = "import sys; from moto.server import main; main(sys.argv[1:])"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=self._log,
            stderr=self._log,
        )
        atexit.register(self.close)
        deadline = time.monotonic() + 60
        while not self._is_up():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def _is_up(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def new_bucket(self) -> str:
        name = f"bucket-{os.getpid()}-{next(_numbers)}"
        self.ask("PUT", name)
        return name

    def ask(self, method: str, path: str, data: bytes | None = None) -> bytes:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def log(self) -> str:
        self._log.seek(0)
        return self._log.read().decode()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


_numbers = itertools.count()
_running: list[S3Server] = []


def s3_server() -> S3Server:
    """Return the server of this test run; skip the test if a package is not installed."""
    for name in ("moto", "flask", "obstore"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"the package {name} is not installed: pip install '.[nightly]'")
    if not _running:
        _running.append(S3Server())
    return _running[0]


def variables(port: int) -> dict[str, str]:
    """Return how a host reaches an S3 server on a port of this machine."""
    return {
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }


class Link:
    """A link to a server: it notes requests, counts what comes back, and can hang or break."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.requests: list[str] = []
        self.received_bytes = 0
        # Take requests and never answer.
        self.hangs = False
        # Break the connection of a request that matches.
        self.breaks: re.Pattern[str] | None = None
        # Call this before such a request is passed on.
        self.before: tuple[re.Pattern[str], object] | None = None
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def forget(self) -> None:
        self.requests.clear()
        self.received_bytes = 0

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        self._open.append(near)
        with near, socket.create_connection(("127.0.0.1", self._port)) as far:
            self._open.append(far)
            threading.Thread(target=self._pass_back, args=(far, near), daemon=True).start()
            try:
                while block := near.recv(1 << 16):
                    if not self._admits(block):
                        break
                    far.sendall(block)
            except OSError:
                pass

    def _admits(self, block: bytes) -> bool:
        for method, path in REQUEST.findall(block):
            request = f"{method.decode()} {path.decode()}"
            self.requests.append(request)
            if self.breaks and self.breaks.search(request):
                return False
            if self.before and self.before[0].search(request):
                what, self.before = self.before[1], None
                what()
        while self.hangs:
            time.sleep(0.01)
        return True

    def _pass_back(self, far: socket.socket, near: socket.socket) -> None:
        try:
            while block := far.recv(1 << 16):
                self.received_bytes += len(block)
                near.sendall(block)
        except OSError:
            pass
        shut(far)
        shut(near)

    def close(self) -> None:
        self.hangs = False
        shut(self._listener)
        self._listener.close()
        for each in self._open:
            shut(each)
        self._accepting.join()
