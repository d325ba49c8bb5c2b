"""The npm packages: `@oneact/linux-x64` or `@oneact/linux-arm64` with the binary, and `oneact`, the TypeScript client.

No package has an install script. npm installs the one of `optionalDependencies` that fits the machine.
"""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from package_project import HOME, LICENCES

CLIENT = HOME / "clients" / "typescript"

README = """\
The program `oneact` for Linux on {machine}, with glibc {glibc} or newer. The package `oneact` requires it; install that one.
"""


def packed(directory, out):
    """Packs as npm publishes; npm gives all files the same time."""
    done = subprocess.run(
        ["npm", "pack", "--json", "--ignore-scripts", f"--pack-destination={out}"],
        cwd=directory, stdout=subprocess.PIPE, text=True,
    )
    if done.returncode:
        raise SystemExit(f"npm cannot pack {directory}")
    # npm 9 says the name of a scoped package with its slash.
    return out / json.loads(done.stdout)[0]["filename"].replace("@", "").replace("/", "-")


def platform(release, directory):
    """Lays out the package of the binary."""
    manifest = {
        "name": f"@oneact/linux-{release.npm}",
        "version": release.version,
        "description": f"The program oneact for Linux on {release.machine}",
        "license": "MIT OR Apache-2.0",
        "repository": {"type": "git", "url": f"git+{release.repository}.git"},
        "os": ["linux"],
        "cpu": [release.npm],
        "libc": ["glibc"],
        "files": ["bin", *LICENCES],
        "preferUnplugged": True,
    }
    (directory / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    glibc = ".".join(map(str, release.elf.glibc()))
    (directory / "README.md").write_text(README.format(machine=release.machine, glibc=glibc))
    (directory / "bin").mkdir()
    shutil.copy(release.binary, directory / "bin" / "oneact")
    (directory / "bin" / "oneact").chmod(0o755)
    for licence in LICENCES:
        shutil.copy(HOME / licence, directory)


def client(release, directory):
    """Lays out the client, with what the registry of MCP servers looks for."""
    manifest = json.loads((CLIENT / "package.json").read_text())
    for unwanted in ("devDependencies", "scripts"):
        manifest.pop(unwanted, None)
    manifest["files"] += LICENCES
    manifest["mcpName"] = json.loads((HOME / "server.json").read_text())["name"]
    manifest["repository"] = {"type": "git", "url": f"git+{release.repository}.git", "directory": "clients/typescript"}
    (directory / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    shutil.copy(CLIENT / "README.md", directory)
    for part in ("dist", "bin"):
        shutil.copytree(CLIENT / part, directory / part)
    for licence in LICENCES:
        shutil.copy(HOME / licence, directory)


def make(release, out):
    if not (CLIENT / "dist").is_dir():
        raise SystemExit("clients/typescript/dist is missing; run `npm ci && npm run build` in clients/typescript")
    made = []
    for layout in (platform, client):
        with tempfile.TemporaryDirectory() as scratch:
            layout(release, Path(scratch))
            made.append(packed(scratch, out))
    return made
