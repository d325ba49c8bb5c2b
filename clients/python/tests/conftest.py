"""What the tests share. `ONEACT_BINARY` names the binary; scripts/test-clients sets it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import oneact

HERE = Path(__file__).parent
CLIENT = HERE.parent
REPOSITORY = CLIENT.parent.parent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with the catalog and the server of `project/`."""
    return Path(shutil.copytree(HERE / "project", tmp_path / "root"))


@pytest.fixture
def client(root: Path) -> oneact.Oneact:
    return oneact.Oneact(root)


@pytest.fixture
def async_client(root: Path) -> oneact.AsyncOneact:
    return oneact.AsyncOneact(root)


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Makes a program in the place of oneact: the body of a shell script. `HANG` is a program that ends with the test."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def make(body: str) -> str:
        path = tmp_path / "oneact"
        path.write_text("#!/bin/sh\n" + body.replace("HANG", f"cat {pipe}"), encoding="utf-8")
        path.chmod(0o755)
        return os.fspath(path)

    # Whoever reads gets the end of the file when the only writer closes it.
    writer = os.open(pipe, os.O_RDWR)
    yield make
    os.close(writer)
