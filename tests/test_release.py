"""What a release says of itself, in several files, must agree."""

import os
import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
import srsly

import spacy_hosemi

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"

setup = ConfigParser()
setup.read(ROOT / "setup.cfg", encoding="utf8")


def test_version():
    version = spacy_hosemi.__version__
    assert srsly.read_yaml(ROOT / "CITATION.cff")["version"] == version
    headings = re.findall("^## (.*)", (ROOT / "CHANGELOG.md").read_text("utf8"), re.M)
    assert [one for one in headings if one != "Unreleased"][0] == version


def test_oldest_versions():
    """Those that are tested are those that are permitted."""
    lines = (ROOT / ".ci" / "oldest.txt").read_text("utf8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    permitted = setup["options"]["install_requires"].split()
    bounds = dict(re.match(r"([a-z0-9]+)>=([\d.]+)", one).groups() for one in permitted)
    assert pins.keys() == bounds.keys()
    for name, bound in bounds.items():
        assert pins[name] in (bound, f"{bound}.0", f"{bound}.0.0")


def test_pythons_of_wheels():
    """The classifiers name the Pythons that wheels are built for."""
    text = (ROOT / "pyproject.toml").read_text("utf8")
    wheels = re.findall(r'"cp3(\d+)-\*"', text)
    named = re.findall(r"Python :: 3\.(\d+)$", setup["metadata"]["classifiers"], re.M)
    assert wheels == named
    assert setup["options"]["python_requires"] == f">=3.{wheels[0]}"


def test_workflows():
    tests = srsly.read_yaml(WORKFLOWS / "tests.yml")
    assert {"run": ".ci/run"} in tests["jobs"]["gate"]["steps"]
    release = srsly.read_yaml(WORKFLOWS / "release.yml")
    publish = release["jobs"]["publish"]
    assert "refs/tags/v" in publish["if"]
    assert publish["needs"] == ["tests", "sdist", "wheels"]
    for workflow in (tests, release):
        assert workflow["permissions"] == {"contents": "read"}


@pytest.mark.skipif(sys.platform == "win32", reason="setuptools says it there")
def test_without_compiler(tmp_path):
    """The end of an installation from source is one sentence, not a traceback."""
    command = [sys.executable, "setup.py", "-q", "build_ext"]
    folders = ["--build-lib", str(tmp_path), "--build-temp", str(tmp_path)]
    found = subprocess.run(
        [*command, *folders],
        cwd=ROOT,
        env={**os.environ, "CC": "no-such-compiler"},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 1
    assert "'no-such-compiler' is not there: install one" in found.stderr
    assert "Traceback" not in found.stderr
