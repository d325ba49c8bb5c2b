"""The Debian package."""

import subprocess
import tempfile
import textwrap
from email.utils import formatdate
from pathlib import Path

from package_project import HOME, LICENCES, gzipped

# No address answers for a package that Debian does not distribute; the repository does.
MAINTAINER = "The oneact authors <oneact@packages.invalid>"
COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/oneact",
    "zsh": "usr/share/zsh/vendor-completions/_oneact",
    "fish": "usr/share/fish/vendor_completions.d/oneact.fish",
}
# Library → the package that has it.
PACKAGES = {
    "libc.so.6": "libc6", "libm.so.6": "libc6", "libdl.so.2": "libc6", "libpthread.so.0": "libc6", "librt.so.1": "libc6",
    "libutil.so.1": "libc6", "ld-linux-x86-64.so.2": "libc6", "ld-linux-aarch64.so.1": "libc6", "libgcc_s.so.1": "libgcc-s1",
}
LONG = """\
oneact performs one agent action for each process: it reads one JSON task from its standard input, calls a tool of an MCP \
server or applies a list of file changes completely or not at all, records what was done, and writes one JSON result. It can \
also offer the actions of a project as an MCP server.
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: oneact
Source: {repository}
Comment: The licences of the packages that are linked into the program are in
 /usr/share/doc/oneact/THIRD-PARTY.md.gz.

Files: *
Copyright: 2026 The oneact authors
License: Expat or Apache-2.0

License: Expat
{mit}

License: Apache-2.0
 On Debian systems, the text of this license is in
 /usr/share/common-licenses/Apache-2.0.
"""


def version(cargo):
    """A version before 1.0.0 is older than it: 1.0.0-rc.1 is 1.0.0~rc.1."""
    return cargo.replace("-", "~", 1) + "-1"


def depends(elf):
    unknown = set(elf.libraries()) - set(PACKAGES)
    if unknown:
        raise SystemExit(f"{elf.path}: scripts/package_deb.py does not know which Debian package has {', '.join(sorted(unknown))}")
    names = {PACKAGES[library] for library in elf.libraries()} - {"libc6"}
    libc = "libc6 (>= {}.{})".format(*elf.glibc())
    return ", ".join([libc, *sorted(names)])


def indented(text):
    """As a field of many lines is written."""
    return "\n".join(f" {line}" if line.strip() else " ." for line in text.strip().splitlines())


def files(release):
    """Path, content and mode of what is installed."""
    terms = (HOME / "LICENSE-MIT").read_text().split("\n\n", 2)[2]
    copyright = COPYRIGHT.format(repository=release.repository, mit=indented(terms))
    date = formatdate(release.moment)
    entry = f"oneact ({version(release.version)}) unstable; urgency=medium\n\n"
    entry += f"  * Version {release.version}; changelog.gz has the changes.\n\n -- {MAINTAINER}  {date}\n"
    doc = "usr/share/doc/oneact"
    yield "usr/bin/oneact", release.binary.read_bytes(), 0o755
    yield f"{doc}/copyright", copyright.encode(), 0o644
    yield f"{doc}/changelog.gz", gzipped((HOME / "CHANGELOG.md").read_bytes()), 0o644
    yield f"{doc}/changelog.Debian.gz", gzipped(entry), 0o644
    yield f"{doc}/README.md.gz", gzipped((HOME / "README.md").read_bytes()), 0o644
    yield f"{doc}/{LICENCES[2]}.gz", gzipped((HOME / LICENCES[2]).read_bytes()), 0o644
    for name, page in release.pages.items():
        yield f"usr/share/man/man1/{name}.gz", gzipped(page), 0o644
    for shell, script in release.completions.items():
        yield COMPLETIONS[shell], script.encode(), 0o644


def make(release, out):
    path = out / f"oneact_{version(release.version)}_{release.debian}.deb"
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "root")
        size = 0
        for name, content, mode in files(release):
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(mode)
            size += len(content)
        control = root / "DEBIAN"
        control.mkdir()
        (control / "control").write_text(
            "Package: oneact\n"
            f"Version: {version(release.version)}\n"
            f"Architecture: {release.debian}\n"
            f"Maintainer: {MAINTAINER}\n"
            f"Installed-Size: {-(-size // 1024)}\n"
            f"Depends: {depends(release.elf)}\n"
            "Recommends: ca-certificates\n"
            "Section: utils\n"
            "Priority: optional\n"
            f"Homepage: {release.repository}\n"
            "Description: perform one agent action for each process\n"
            + indented("\n".join(textwrap.wrap(LONG, 78))) + "\n"
        )
        sums = subprocess.run(
            ["find", *sorted(each.name for each in root.iterdir() if each.name != "DEBIAN"), "-type", "f", "-exec", "md5sum", "{}", "+"],
            cwd=root, check=True, stdout=subprocess.PIPE, text=True,
        )
        (control / "md5sums").write_text("".join(sorted(sums.stdout.splitlines(keepends=True), key=lambda line: line[34:])))
        strength = ["-Zxz", "-z9"] if release.level == 9 else ["-Zgzip", "-z1"]
        built = subprocess.run(
            ["dpkg-deb", "--build", "--root-owner-group", *strength, str(root), str(path)],
            env={"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": str(release.moment)}, stdout=subprocess.DEVNULL,
        )
        if built.returncode:
            raise SystemExit("dpkg-deb cannot build the package")
    return [path]
