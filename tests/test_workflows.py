"""The workflows can be read, run scripts that exist, and have no more rights than they need."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.support.program import ROOT

yaml = pytest.importorskip("yaml", reason="the package pyyaml is not installed: pip install '.[nightly]'")

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_complete_and_names_files_that_exist(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(workflow["jobs"])
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    assert all((ROOT / name).exists() for name in re.findall(r"\.ci/[\w.-]+", path.read_text()))


def test_only_the_last_two_jobs_of_a_release_can_write():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items() if "permissions" in job} == {
        "publish": {"id-token": "write"},
        "github-release": {"contents": "write"},
    }
    # Neither runs code of the repository.
    assert not [
        step for name in ("publish", "github-release") for step in jobs[name]["steps"] if ".ci" in str(step)
    ]


def test_wheels_are_built_with_the_oldest_python_and_must_be_compiled():
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=").replace(".", "")
    table = PROJECT["tool"]["cibuildwheel"]
    assert table["build"] == f"cp{oldest}-*"
    assert f'"cp{oldest}-abi3"' in (ROOT / "hatch_build.py").read_text()
    assert table["environment"] == {"TOKCAP_BUILD_COMPILED": "1"}
    assert (ROOT / table["test-command"].rpartition("{project}/")[2]).exists()
