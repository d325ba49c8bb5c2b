"""The package as a package: what is generated, what an import loads, and what it exports."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import oneact
from conftest import CLIENT, REPOSITORY

SOURCE = CLIENT / "src" / "oneact"


def test_generating_again_changes_nothing(tmp_path: Path) -> None:
    subprocess.run([CLIENT / "scripts" / "generate", tmp_path], check=True)
    for made in tmp_path.iterdir():
        assert (
            made.read_bytes() == (SOURCE / made.name).read_bytes()
        ), f"run scripts/generate-clients python: {made.name}"
    assert {made.name for made in tmp_path.iterdir()} == {"models.py", "_faults.py"}


def test_the_models_have_readable_names() -> None:
    plain = json.loads(
        subprocess.run([REPOSITORY / "scripts" / "plain-schemas"], capture_output=True, check=True).stdout
    )
    models = importlib.import_module("oneact.models")
    names = {name for name, value in vars(models).items() if getattr(value, "__module__", None) == models.__name__}
    assert names <= set(plain["$defs"])
    assert [name for name in plain["$defs"] if not hasattr(models, name)] == []
    assert [name for name in plain["$defs"] if name[-1].isdigit() and name != "SHA256"] == []


def test_an_import_loads_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import oneact; print(sorted(set(sys.modules) - before))"
    # -I and -S: nothing that this environment loads by itself counts.
    program = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); {program}"
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert said == "['oneact']\n"


def test_every_name_that_is_exported_is_there_and_described() -> None:
    for name in oneact.__all__:
        assert inspect.getdoc(getattr(oneact, name)), name
    assert set(oneact.__all__) <= set(dir(oneact))
    assert sorted(oneact.__all__) == sorted(name for names in oneact._HOMES.values() for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'Sync'"):
        oneact.Sync  # type: ignore[attr-defined]


def test_the_package_needs_nothing() -> None:
    with open(CLIENT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    assert project["dependencies"] == [] and project["requires-python"] == ">=3.10"
    program = "import sys, oneact; [getattr(oneact, name) for name in oneact.__all__]; import oneact.models, asyncio"
    program = f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); {program}"
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True)
    # Before Python 3.11, typing has no NotRequired.
    older = program.replace("import oneact.models", "sys.version_info = (3, 10, 14); import oneact.models")
    assert older != program
    subprocess.run([sys.executable, "-I", "-S", "-c", older], check=True)
    assert (SOURCE / "py.typed").exists()


@pytest.mark.parametrize("formatter", ["black", "isort"])
def test_the_code_is_formatted(formatter: str) -> None:
    argv = [sys.executable, "-m", formatter, "--check", "--quiet", "src", "tests", "examples", "scripts/generate"]
    assert subprocess.run(argv, cwd=CLIENT, check=False).returncode == 0, f"run {formatter} in clients/python"
