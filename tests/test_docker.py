"""The Dockerfile of the guide: its steps make a place in which a shell of an agent is capped."""

import os
import re
import shutil
import subprocess

from tests.support.program import ROOT
from tests.support.tiers import nightly

DOCKERFILE = (ROOT / "docs" / "samples" / "Dockerfile").read_text()
GUIDE = (ROOT / "docs" / "docker.md").read_text()
ASKED = "seq 1 20000; exit 3"


def test_the_guide_shows_the_dockerfile():
    assert f"```dockerfile\n{DOCKERFILE}```" in GUIDE
    assert "docs/samples/Dockerfile" in GUIDE


@nightly
def test_its_steps_make_an_image_that_caps_and_keeps_the_status(tmp_path):
    pull = ["docker", "pull", "-q", "python:3.12-slim"]
    if shutil.which("docker") and subprocess.run(pull, capture_output=True).returncode == 0:
        built = ["docker", "build", "-q", "-f", "docs/samples/Dockerfile", "."]
        image = subprocess.run(built, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        done = subprocess.run(["docker", "run", "--rm", image, ASKED], capture_output=True, text=True)
    else:
        done = replayed(tmp_path)
    assert done.returncode == 3, done.stderr
    assert re.search(r"\[TRUNCATED\] .* tokens; .*tokcap show \w+@\d+$", done.stdout.strip())
    assert done.stdout.startswith("1\n2\n")


def replayed(place) -> subprocess.CompletedProcess[str]:
    """Run the steps of the Dockerfile in an empty home and an environment of their own."""
    source, home = place / "src", place / "agent"
    home.mkdir()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    subprocess.run(["python3", "-m", "venv", place / "venv"], check=True)
    env = {"PATH": f"{place}/venv/bin:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    entry: list[str] = []
    for step in DOCKERFILE.replace("\\\n", " ").splitlines():
        step = step.replace("/home/agent", str(home)).replace("/src", str(source))
        word, _, rest = step.partition(" ")
        if word == "ENV":
            env |= dict(each.split("=", 1) for each in rest.split())
        elif word == "ENTRYPOINT":
            entry = re.findall(r'"(.*?)"', rest)
        elif word == "RUN" and "useradd" not in rest:
            subprocess.run(["sh", "-ec", rest], env=env, cwd=home, check=True, capture_output=True)
    assert (home / ".claude" / "settings.json").exists()
    return subprocess.run([*entry, ASKED], env=env, cwd=home, capture_output=True, text=True)
