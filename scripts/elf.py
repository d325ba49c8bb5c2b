"""What packages must know of a compiled program, as readelf tells it."""

import re
import subprocess

MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}


class Elf:
    def __init__(self, path):
        self.path = path
        found = re.search(r"Machine:\s+(.+)", self._told("--file-header"))
        name = found.group(1).strip() if found else "no machine"
        if name not in MACHINES:
            raise SystemExit(f"{path}: a program for {name}; packages are made for {' and '.join(MACHINES.values())}")
        self.machine = MACHINES[name]

    def _told(self, *what):
        done = subprocess.run(["readelf", "--wide", *what, self.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{self.path}: readelf cannot read it: {done.stderr.strip()}")
        return done.stdout

    def versions(self):
        """The symbols that it takes from glibc, each with the version of glibc that brought it."""
        found = re.findall(r" UND (\S+)@GLIBC_([0-9.]+)", self._told("--dyn-syms"))
        return [(name, tuple(map(int, version.split(".")))) for name, version in found]

    def glibc(self):
        """The oldest version of glibc that has them all."""
        versions = [version for _, version in self.versions()]
        if not versions:
            raise SystemExit(f"{self.path}: it takes nothing from glibc")
        return max(versions)

    def libraries(self):
        """The libraries that the loader must find."""
        return re.findall(r"\(NEEDED\).*\[(.+)\]", self._told("--dynamic"))
