"""How the binary is found and started, and what a run leaves behind. No I/O with the process: that is sync or async."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ._json import parse
from ._outcome import Outcome
from .errors import BinaryMissing, NoEnvelope

if TYPE_CHECKING:
    from ._task import StrPath

# How long oneact may take to end by itself after SIGTERM: it undoes an unfinished plan, and writes its envelope.
GRACE = 12.0
# How long pipes may stay open after a kill: a process that somebody else started may still hold them.
LEFT_OPEN = 1.0
# The flag with which a run tells its progress on stderr.
PROGRESS = ("--progress", "jsonl")
# What a line of progress contains.
RunProgress: TypeAlias = dict[str, Any]

# A program that becomes oneact. Linux keeps the signal of a parent's death (PR_SET_PDEATHSIG, 1) over exec.
TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 15)
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""


class Settings:
    """How oneact is run."""

    def __init__(
        self, root: StrPath | None, binary: StrPath | None, env: Mapping[str, str] | None, args: Sequence[str]
    ) -> None:
        self.root = None if root is None else os.path.abspath(root)
        self._binary = None if binary is None else os.fspath(binary)
        self._env = dict(env or {})
        self._args = list(args)
        self._before: list[str] = []

    def tied(self) -> Settings:
        """The same, but that the process gets SIGTERM when this one dies, also by SIGKILL."""
        settings = Settings(self.root, self._binary, self._env, self._args)
        settings._before = [sys.executable, "-I", "-S", "-c", TIED, str(os.getpid())]
        return settings

    def argv(self, verb: Sequence[str], flags: Sequence[str]) -> list[str]:
        root = [] if self.root is None else ["--root", self.root]
        return [*self._before, self._binary or found(), *verb, *root, *self._args, *flags]

    def environment(self) -> dict[str, str]:
        return {**os.environ, **self._env}

    def base(self) -> str:
        """Where relative paths of an answer begin."""
        return self.root or os.getcwd()


def found() -> str:
    """The binary: `$ONEACT_BINARY`, that of this package, or the one on PATH."""
    if named := os.environ.get("ONEACT_BINARY"):
        return named
    import shutil
    import sysconfig

    scripts = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
        # pip install --target
        os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"),
    ]
    for directory in scripts:
        if os.access(path := os.path.join(directory, "oneact"), os.X_OK):
            return path
    # An empty or a relative directory of PATH would be one of the working directory.
    directories = [path for path in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(path)]
    if path_of := shutil.which("oneact", path=os.pathsep.join(directories)):
        return path_of
    raise BinaryMissing(
        f"the binary `oneact` is neither in {', '.join(scripts)} nor on PATH; install the package for this platform "
        f"(`{sys.executable} -m pip install oneact`), or name the binary with `binary=` or $ONEACT_BINARY"
    )


def not_started(binary: str, error: OSError) -> BinaryMissing:
    return BinaryMissing(f"{binary} cannot be started ({error.strerror or error}); name another binary with `binary=`")


def abandon(process: Any) -> None:
    """Kills a process of asyncio, and closes its pipes, which a process that it has started may hold open."""
    # asyncio has no other way to close them.
    process._transport.close()


def tail(stderr: bytes) -> str:
    return stderr[-4096:].decode("utf-8", "replace").strip()


def sorted_out(lines: Sequence[bytes], progress: Callable[[RunProgress], None] | None) -> bytes:
    """Hands the lines that tell progress to `progress`, and returns the others."""
    others = []
    for line in lines:
        told = _told(line) if progress is not None else None
        if progress is None or told is None:
            others.append(line + b"\n")
        else:
            progress(told)
    return b"".join(others)


def _told(line: bytes) -> RunProgress | None:
    if not line.startswith((b'{"progress":', b'{"heartbeat":')):
        return None
    try:
        [told] = parse(line).values()
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def how_it_ended(exit_code: int | None) -> str:
    if exit_code is None:
        return "did not end"
    return f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"


def outcome_of(stdout: bytes, stderr: bytes, exit_code: int | None, root: str) -> Outcome:
    """The envelope on stdout."""
    try:
        envelope: Any = parse(stdout)
        return Outcome(envelope, root, cast(int, exit_code), stderr.decode("utf-8", "replace"))
    except (ValueError, KeyError, TypeError, AttributeError):
        begin = stdout[:200].decode("utf-8", "replace")
        wrote = f"its stdout begins with {begin!r}" if begin else "it wrote nothing to stdout"
        last = tail(stderr)
        raise NoEnvelope(
            f"oneact {how_it_ended(exit_code)} without a valid envelope: {wrote}"
            + (f"; its stderr ends with: {last}" if last else ""),
            exit_code,
            last,
        ) from None
