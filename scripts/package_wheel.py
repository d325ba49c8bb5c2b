"""The wheel `oneact`: the Python client, and the binary as a script of the environment.

maturin compiles whatever it is given, so the wheel is put together here. Its metadata is that of clients/python/pyproject.toml.
"""

import base64
import hashlib
import io
import json
import re
import time
import tomllib
import zipfile

from package_project import HOME, LICENCES

CLIENT = HOME / "clients" / "python"
# The oldest glibc that a tag names; scripts/build-release makes binaries for it.
OLDEST = (2, 28)


def version(cargo):
    """A version of Cargo as PyPI writes it: 1.0.0-rc.1 is 1.0.0rc1."""
    found = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?", cargo)
    if not found:
        raise SystemExit(f"PyPI has no version like {cargo}; it can be 1.2.3, or 1.2.3-rc.1, also with alpha and beta")
    plain, kind, number = found.groups()
    return plain + ({"alpha": "a", "beta": "b", "rc": "rc"}[kind] + number if kind else "")


def tag(elf):
    major, minor = max(elf.glibc(), OLDEST)
    return f"py3-none-manylinux_{major}_{minor}_{elf.machine}"


def write(release, path, tag, info, files):
    """Writes a wheel; `files` are names, contents and modes, `info` the directory for the metadata."""
    wheel = f"Wheel-Version: 1.0\nGenerator: scripts/package\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = files | {f"{info}/WHEEL": (wheel.encode(), 0o644)}
    record = io.StringIO()
    for name, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.write(f"{name},sha256={digest},{len(content)}\n")
    record.write(f"{info}/RECORD,,\n")
    with zipfile.ZipFile(path, "w") as archive:
        for name, (content, mode) in [*sorted(files.items()), (f"{info}/RECORD", (record.getvalue().encode(), 0o644))]:
            entry = zipfile.ZipInfo(name, time.gmtime(release.moment)[:6])
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, release.level)


def metadata(project, release, readme):
    for name in ("dependencies", "entry-points", "scripts"):
        if project.get(name):
            raise SystemExit(f"clients/python/pyproject.toml has `{name}`, which scripts/package_wheel.py does not know")
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version(release.version)}",
        f"Summary: {project['description']}",
        "License-Expression: MIT OR Apache-2.0",
        *(f"License-File: {name}" for name in LICENCES),
        f"Requires-Python: {project['requires-python']}",
        f"Project-URL: Repository, {release.repository}",
    ]
    if keywords := project.get("keywords"):
        lines.append(f"Keywords: {','.join(keywords)}")
    lines += [f"Classifier: {classifier}" for classifier in project.get("classifiers", [])]
    for extra, requirements in project.get("optional-dependencies", {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {requirement} ; extra == "{extra}"' for requirement in requirements]
    # The registry of MCP servers looks for this line.
    name = json.loads((HOME / "server.json").read_text())["name"]
    lines += ["Description-Content-Type: text/markdown", "", readme.rstrip(), "", f"<!-- mcp-name: {name} -->", ""]
    return "\n".join(lines)


def make(release, out):
    project = tomllib.loads((CLIENT / "pyproject.toml").read_text())["project"]
    name = f"oneact-{version(release.version)}"
    info = f"{name}.dist-info"
    files = {f"{name}.data/scripts/oneact": (release.binary.read_bytes(), 0o755)}
    source = CLIENT / "src"
    for path in sorted((source / "oneact").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            files[str(path.relative_to(source))] = (path.read_bytes(), 0o644)
    readme = (CLIENT / "README.md").read_text()
    files[f"{info}/METADATA"] = (metadata(project, release, readme).encode(), 0o644)
    for licence in LICENCES:
        files[f"{info}/licenses/{licence}"] = ((HOME / licence).read_bytes(), 0o644)
    path = out / f"{name}-{tag(release.elf)}.whl"
    write(release, path, tag(release.elf), info, files)
    return [path]
