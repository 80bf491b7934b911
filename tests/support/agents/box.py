"""Run an agent once: in a network that has only this machine, with a home of its own, against the fake model.

`run` starts this module again with `unshare`, which needs root or user namespaces. The agent cannot reach its
vendor, and the user's settings are not there.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.support.agents.fake_model import FakeModel
from tests.support.agents.outputs import project_files
from tests.support.agents.programs import BY_NAME, DIRECTORY, NODE, VARIABLE
from tests.support.certificates import self_signed
from tokcap.hooks import AGENTS
from tokcap.hooks.base import Place

TIMEOUT_SECONDS = 240
ROOT = Path(__file__).parents[3]
# From <linux/sockios.h> and <linux/if.h>.
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41


@dataclass(frozen=True)
class Run:
    """What happened."""

    # What the model got from the tools.
    results: list[str]
    # What it got from those of subagents.
    within: list[str]
    status: int
    # What the agent wrote, for messages of tests.
    said: str
    # Files that are still there, or name tokcap, after `tokcap hook remove`.
    left: list[str]


def reason_to_skip(name: str) -> str:
    """Return why an agent cannot be run here; empty if it can."""
    if not DIRECTORY:
        return f"{VARIABLE} is not set; .ci/agents installs agents and prints the directory"
    if not BY_NAME[name].is_installed:
        return f"{name} is not installed in {DIRECTORY}"
    return "" if can_unshare() else "no new network can be made here: that needs root or user namespaces"


@functools.cache
def can_unshare() -> bool:
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*unshare_words(), "true"], capture_output=True, check=False).returncode == 0


def unshare_words() -> list[str]:
    more = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *more, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def run(
    name: str,
    script: list[str | dict],
    home: Path,
    install: tuple[str, ...] | None = None,
    arguments: tuple[str, ...] = (),
    files: dict[str, str] | None = None,
    *,
    is_on_path: bool = True,
) -> Run:
    """Let an agent run a script of shell commands and calls of other tools in a new project. `PROJECT` in
    the arguments of a call is the directory of the project, `URL` the address of the model, and `SECURE`
    the same with TLS, for programs that take certificates as Node does.

    `install`: options for `tokcap hook install`; None: without tokcap. `arguments` replace those of the
    program, and `files` are more files below the home directory; `{url}` in them is the address of the model.
    `is_on_path`: whether the PATH of the agent has tokcap.
    """
    home.mkdir(parents=True, exist_ok=True)
    order = {
        "name": name,
        "script": script,
        "home": str(home),
        "install": install,
        "arguments": list(arguments),
        "files": files or {},
        "is_on_path": is_on_path,
    }
    done = subprocess.run(
        [*unshare_words(), sys.executable, "-m", __name__],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], VARIABLE: DIRECTORY, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=TIMEOUT_SECONDS + 30,
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return Run(**json.loads(done.stdout))


def main() -> None:
    """Inside: do what the order on standard input says, and write the result to standard output."""
    order = json.load(sys.stdin)
    bring_up_loopback()
    program = BY_NAME[order["name"]]
    home = Path(order["home"])
    project = home / "project"
    project.mkdir()
    model = FakeModel([])
    server = model.server()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    script = json.dumps(order["script"]).replace("PROJECT", str(project)).replace("URL", url)
    trusted = {}
    if "SECURE" in script:
        secure, certificate = with_tls(model, home)
        script = script.replace("SECURE", secure)
        trusted = {"NODE_EXTRA_CA_CERTS": str(certificate)}
    model.script = json.loads(script)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for path, text in {**program.settings(url), **order["files"]}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text.replace("{url}", url))
    for path, text in project_files().items():
        (project / path).write_text(text)
    subprocess.run(["git", "init", "-q", str(project)], check=False)
    world = {**world_in(home, program, url, is_on_path=order["is_on_path"]), **trusted}
    before = [word.replace("{url}", url) for word in program.before]
    if before:
        subprocess.run(
            [program.path, *before], env=world, cwd=project, capture_output=True, timeout=60, check=False
        )
    if order["install"] is not None:
        call_hook(world, project, "install", program.name, *order["install"])
        variable, path = program.started_with
        if variable:
            world[variable] = str(home / path)
    said, status = "", -1
    try:
        done = subprocess.run(
            [program.path, *(order["arguments"] or program.arguments)],
            env=world,
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        said, status = done.stdout.decode("utf-8", "replace"), done.returncode
    except subprocess.TimeoutExpired as error:
        said = f"timed out: {(error.stdout or b'').decode('utf-8', 'replace')}"
    left = []
    if order["install"] is not None:
        call_hook(world, project, "remove", program.name)
        left = left_below(home, program.name)
    found = {
        "results": model.results,
        "within": model.within,
        "status": status,
        "said": f"{said[-3000:]}\n{model.problem}",
        "left": left,
    }
    json.dump(found, sys.stdout)


def with_tls(model: FakeModel, directory: Path) -> tuple[str, Path]:
    """Start another server of the model, with TLS; return its address and its certificate."""
    key, certificate = self_signed(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = model.server()
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://127.0.0.1:{server.server_address[1]}", certificate


def call_hook(world: dict[str, str], project: Path, *words: str) -> None:
    subprocess.run(
        [own("tokcap"), "hook", *words], env=world, cwd=project, check=True, stderr=subprocess.PIPE
    )


def left_below(home: Path, name: str) -> list[str]:
    """Return the files of a hook, and the settings of its agent if they name tokcap."""
    stored = home / ".local" / "share" / "tokcap"
    found = [path for path in home.rglob("tokcap*") if stored not in (path, *path.parents)]
    found += home.rglob("*.before-tokcap")
    settings = Path(AGENTS[name].user_settings(Place(str(home), str(home), {})))
    if settings.exists() and "tokcap" in settings.read_text():
        found.append(settings)
    return [str(path.relative_to(home)) for path in found]


def world_in(home: Path, program, url: str, *, is_on_path: bool) -> dict[str, str]:
    """Return the whole environment of the agent."""
    path = [*([os.path.dirname(own("tokcap"))] if is_on_path else ()), "/usr/local/bin", "/usr/bin", "/bin"]
    if program.own_node:
        path.insert(0, os.path.join(DIRECTORY, "node", NODE))
    node = shutil.which("node")
    path += [os.path.dirname(node)] if node else []
    temporary = home / "tmp"
    temporary.mkdir()
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": os.pathsep.join(path),
        "SHELL": "/bin/bash",
        # As below a terminal. Else bash takes a socket for a remote login, and reads other start-up files.
        "SHLVL": "1",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **{name: value.replace("{url}", url) for name, value in program.variables.items()},
    }


def own(program: str) -> str:
    return os.path.join(os.path.dirname(sys.executable), program)


def bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP_RUNNING))


if __name__ == "__main__":
    main()
