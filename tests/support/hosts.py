"""Hosts of their own on this machine: network namespaces, each with a link that can be taken down."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Host:
    """A network namespace. The rest of the machine has the address `outside` for it."""

    def __init__(self, number: int) -> None:
        self.name = f"tokcap{os.getpid()}x{number}"
        self._link = f"tk{os.getpid() % 100000}x{number}"
        # A network of two addresses, which nothing else on this machine is likely to use.
        place = (os.getpid() * 4 + number) % (1 << 14)
        self.outside, inside = (f"10.213.{place // 64}.{place % 64 * 4 + last}" for last in (1, 2))
        ip("netns", "add", self.name)
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.outside}/30", "dev", self._link)
        ip("link", "set", self._link, "up")
        ip("-n", self.name, "addr", "add", f"{inside}/30", "dev", "eth0")
        ip("-n", self.name, "link", "set", "eth0", "up")
        ip("-n", self.name, "link", "set", "lo", "up")

    @property
    def words(self) -> list[str]:
        """The words before a command that runs on this host."""
        return ["ip", "netns", "exec", self.name]

    def cut(self) -> None:
        ip("link", "set", self._link, "down")

    def mend(self) -> None:
        ip("link", "set", self._link, "up")

    def close(self) -> None:
        ip("link", "del", self._link)
        ip("netns", "del", self.name)


# Some systems forbid namespaces even to root, and nothing that could be installed changes that.
NO_HOSTS = "this system does not allow network namespaces"


def can_have_hosts() -> bool:
    if os.geteuid() != 0 or not shutil.which("ip"):
        return False
    probe = f"tokcap{os.getpid()}probe"
    try:
        ip("netns", "add", probe)
        ip("netns", "del", probe)
    except subprocess.CalledProcessError:
        return False
    return True


def need_hosts() -> None:
    """Skip the test where hosts cannot be made."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("only root can make network namespaces, with the program ip")
    if not can_have_hosts():
        pytest.skip(NO_HOSTS)
