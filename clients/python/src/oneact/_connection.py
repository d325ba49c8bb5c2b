"""The process of a session, and the one thread that does all I/O with it. Sync and async sessions share both.

The callers hand in lines and never touch a pipe. So a full pipe blocks no caller, an interrupt cannot leave half a line, and
the process is stopped whatever becomes of those who wait for it.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import IO

from ._process import GRACE, LEFT_OPEN, Settings, how_it_ended, not_started, tail
from ._wire import LONGEST, Asked, Put, Wire, now
from .errors import OneactError, SessionEnded

# How long the process may take to end after the end of its stdin, which somebody else may hold open, if it has no calls.
PATIENCE = 2.0
# How often it is looked whether the process is still there, since somebody else may hold its stdout open.
LOOK = 0.5
KEPT_OF_STDERR = 16 << 10


class Connection:
    """One process of `oneact serve catalog`."""

    def __init__(self, settings: Settings, flags: Sequence[str], wire: Wire, ask: Callable[[Asked], None]) -> None:
        argv = settings.argv(["serve", "catalog"], flags)
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, env=settings.environment(), bufsize=0
            )
        except OSError as error:
            raise not_started(argv[0], error) from error
        self._owner = os.getpid()
        self._wire = wire
        self._ask = ask
        self._outgoing: deque[bytes | None] = deque()
        # What is not yet written of the first line.
        self._begun = memoryview(b"")
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        weakref.finalize(self, os.close, self._wake)
        # When the process gets which signal.
        self._stops: list[tuple[float, Callable[[], None]]] = []
        self._wrong = ""
        self._stderr = b""
        self._ended: SessionEnded | None = None
        self._thread = threading.Thread(target=self._work, name="oneact_session", daemon=True)
        self._thread.start()

    def begin(self, put: Put) -> int:
        """The number of a new request. `put` gets what comes for it: at the latest, that the process has ended."""
        if not self.is_here():
            raise OneactError(
                f"the session belongs to process {self._owner}; open another one in process {os.getpid()}"
            )
        number = self._wire.begin(put)
        if self._ended is not None:
            self._wire.forget(number)
            raise self._ended
        return number

    def is_here(self) -> bool:
        """Whether this is the process that has opened the session, and no fork of it."""
        return os.getpid() == self._owner

    def send(self, line: bytes | None) -> None:
        """Never waits. None is the end of stdin."""
        if self._ended is None:
            self._outgoing.append(line)
            os.eventfd_write(self._wake, 1)

    def cancel(self, number: int, line: bytes) -> None:
        """A request that nobody waits for any more. It is not sent if that has not begun."""
        self._wire.forget(number)
        try:
            self._outgoing.remove(line)
        except ValueError:
            self.send(self._wire.cancel(number))

    def finish(self) -> None:
        """Lets the process end, and stops it if it does not."""
        if not self._stops:
            # oneact cancels the calls that are under way, and still answers them.
            patience = GRACE if self._wire.is_waiting() else PATIENCE
            self._stops = [
                (now() + patience, self._process.terminate),
                (now() + patience + GRACE, self._process.kill),
            ]
            self.send(None)

    def kill(self, why: str = "") -> None:
        self._wrong = self._wrong or why
        self._process.kill()

    def join(self) -> None:
        """Waits until the process has ended."""
        self._thread.join()

    def _work(self) -> None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        try:
            self._exchange(process.stdin, process.stdout, process.stderr)
            process.wait(LEFT_OPEN)
        except subprocess.TimeoutExpired:
            pass
        finally:
            process.kill()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
            exit_code = process.wait()
            last = tail(self._stderr)
            how = self._wrong or f"`oneact serve catalog` {how_it_ended(exit_code)}"
            self._ended = SessionEnded(how + (f"; its stderr ends with: {last}" if last else ""), exit_code, last)
            self._wire.fail(self._ended)

    def _exchange(self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        """Until both outputs have ended, or shortly after the first sign that the process has."""
        os.set_blocking(stdin.fileno(), False)
        out, err = stdout.fileno(), stderr.fileno()
        reading = {out, err, self._wake}
        line: list[bytes] = []
        until = inf
        while reading > {self._wake}:
            poll = select.poll()
            for fd in reading:
                poll.register(fd, select.POLLIN)
            if self._write(stdin):
                poll.register(stdin, select.POLLOUT)
            ready = poll.poll(LOOK * 1000)
            # What the process has written is read, however late this thread comes to it.
            if now() >= until and all(fd != out for fd, _ in ready):
                break
            for fd, _ in ready:
                if fd == self._wake:
                    os.eventfd_read(fd)
                elif fd in reading:
                    some = os.read(fd, 1 << 16)
                    if not some or (fd == out and not self._receive(line, some)):
                        reading.discard(fd)
                    elif fd == err:
                        self._stderr = (self._stderr + some)[-KEPT_OF_STDERR:]
            if until == inf and (out not in reading or self._process.poll() is not None):
                until = now() + LEFT_OPEN
            if self._stops and self._stops[0][0] <= now():
                self._stops.pop(0)[1]()

    def _write(self, stdin: IO[bytes]) -> bool:
        """Writes what the pipe takes, and returns whether there is more."""
        while not stdin.closed:
            if not self._begun:
                if not self._outgoing:
                    break
                line = self._outgoing.popleft()
                if line is None:
                    stdin.close()
                    break
                self._begun = memoryview(line)
            try:
                written = stdin.write(self._begun)
            except OSError:
                break  # The process has ended, or has closed its stdin.
            if written is None:
                return True
            self._begun = self._begun[written:]
        return False

    def _receive(self, line: list[bytes], some: bytes) -> bool:
        """Takes what was read; `line` is what came before. Returns False if that is no MCP."""
        *whole, rest = some.split(b"\n")
        for end in whole:
            line.append(end)
            message = b"".join(line)
            line.clear()
            try:
                todo = self._wire.receive(message)
            except (ValueError, KeyError, TypeError, AttributeError):
                self.kill(f"oneact wrote a line that is no message of MCP: {message[:200]!r}")
                return False
            if isinstance(todo, Asked):
                self._ask(todo)
            elif todo is not None:
                self.send(todo)
        line.append(rest)
        if len(line) > 16 and sum(map(len, line)) > LONGEST:
            self.kill(f"oneact wrote a line of more than {LONGEST} bytes: {line[0][:200]!r}")
            return False
        return True
