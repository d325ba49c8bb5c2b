"""`mypy --strict` on the package, and on programs that use it: those that are right, and lines that are wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CLIENT, HERE

TYPED = HERE / "typed"
pytestmark = pytest.mark.timeout(170)


def mypy(*arguments: str | Path) -> tuple[int, str]:
    cache = Path(sys.prefix) / "mypy_cache"
    argv = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *map(str, arguments)]
    env = {**os.environ, "MYPYPATH": str(CLIENT / "src")}
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=HERE, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.14"])
def test_the_package_is_typed(version: str) -> None:
    code, said = mypy("--python-version", version, CLIENT / "src")
    assert code == 0, said


def test_programs_that_are_right() -> None:
    examples = sorted((CLIENT / "examples").rglob("*.py"))
    code, said = mypy(TYPED / "good.py", *examples)
    assert code == 0, said


def test_programs_that_are_wrong() -> None:
    bad = TYPED / "bad.py"
    expected = {
        (number, kind)
        for number, line in enumerate(bad.read_text(encoding="utf-8").splitlines(), 1)
        if "# E: " in line
        for kind in line.split("# E: ")[1].split(", ")
    }
    _, said = mypy(bad)
    found = {(int(line), kind) for line, kind in re.findall(r"bad\.py:(\d+): error: .*\[([a-z-]+)\]", said)}
    assert found == expected, said


def test_the_tests_are_typed() -> None:
    code, said = mypy(*sorted(HERE.glob("*.py")))
    assert code == 0, said
