"""Every code block of the README runs, in its order and in one directory, and so does every example."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CLIENT, REPOSITORY

BLOCKS = re.findall(
    r"^```(\w+)\n(.*?)^```$", (CLIENT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


def test_the_first_lines_install_and_call() -> None:
    assert [kind for kind, _ in BLOCKS[:2]] == ["sh", "python"]


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(REPOSITORY / "fixtures" / "media" / "fox.mp4", "film.mp4")
    # The package is not in the registry yet: pip is only asked whether it knows the command and the name.
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "pip").write_text('#!/bin/sh\n[ "$*" = "install oneact" ]\n')
    (bin / "pip").chmod(0o755)
    [catalog] = [text for kind, text in BLOCKS if kind == "toml"]
    (tmp_path / "catalog.toml").write_text(catalog, encoding="utf-8")
    env = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"}
    subprocess.run([os.environ["ONEACT_BINARY"], "catalog", "check"], check=True, env=env)
    space: dict[str, object] = {}
    for kind, text in BLOCKS:
        if kind == "sh":
            subprocess.run(["sh", "-euc", text], check=True, env=env)
        elif kind == "python":
            exec(compile(text, "README.md", "exec"), space)
        else:
            assert kind == "toml"
    said = capsys.readouterr().out
    assert said.startswith("todo_1\nparams_invalid False ")
    assert "oneact approve apr_" in said and "+Hello" in said and (tmp_path / "hello.txt").exists()
    assert "seconds of audio" in said and "['todo_4', 'todo_5', 'todo_6']" in said


@pytest.mark.parametrize("path", sorted((CLIENT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_the_example_runs(path: Path) -> None:
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    expected = path.with_suffix(".txt").read_text(encoding="utf-8")
    assert done.stdout == expected
