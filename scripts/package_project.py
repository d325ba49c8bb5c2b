"""What every package is made of: facts of the project, which stand in Cargo.toml, and the binary."""

import gzip
import os
import re
import subprocess
import tomllib
from functools import cached_property
from pathlib import Path

from elf import Elf

HOME = Path(__file__).resolve().parent.parent
LICENCES = ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.md"]
SHELLS = ["bash", "zsh", "fish"]
# The names of a machine: of npm, of Debian.
NAMES = {"x86_64": ("x64", "amd64"), "aarch64": ("arm64", "arm64")}


def crate():
    return tomllib.loads((HOME / "Cargo.toml").read_text())["package"]


def moment():
    """The time that files in packages have, in seconds."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(said)
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=HOME, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout)


class Release:
    """A binary, what it is, and how strongly its packages are compressed."""

    def __init__(self, binary, level):
        self.binary = binary
        self.level = level
        self.elf = Elf(str(binary))
        self.machine = self.elf.machine
        self.npm, self.debian = NAMES[self.machine]
        package = crate()
        self.version = package["version"]
        self.description = package["description"]
        self.repository = package["repository"]
        self.moment = moment()
        told = self.says("--version").split()
        if told != ["oneact", self.version]:
            raise SystemExit(f"{binary} says that it is {' '.join(told)}, and Cargo.toml has {self.version}")

    def says(self, *args):
        try:
            done = subprocess.run([self.binary, *args], check=True, stdout=subprocess.PIPE, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"{self.binary} cannot be run here, and packages contain what it prints: {error}") from error
        return done.stdout

    @cached_property
    def pages(self):
        """The man pages: that of oneact, and those to which it refers."""
        first = self.says("man")
        verbs = re.findall(r"oneact\\-(\S+?)\(1\)", first)
        # `help` is what clap adds; it has no page.
        verbs = [verb.replace("\\", "") for verb in verbs if verb != "help"]
        pages = {"oneact.1": first}
        return pages | {f"oneact-{verb}.1": self.says("man", verb) for verb in verbs}

    @cached_property
    def completions(self):
        return {shell: self.says("completions", shell) for shell in SHELLS}


def gzipped(content, level=9):
    """Compressed, without a name and a time."""
    return gzip.compress(content if isinstance(content, bytes) else content.encode(), level, mtime=0)
