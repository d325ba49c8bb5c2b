"""The wheel `oneact-libduckdb`, which `oneact[duckdb]` requires: DuckDB's library, in `lib` of the environment.

The library is that of DuckDB's own npm package. packaging/libduckdb.json names the version, and the hash that npm publishes.
"""

import base64
import hashlib
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import package_wheel
from elf import Elf
from package_project import HOME

README = """\
This wheel installs DuckDB's library as `lib/libduckdb.so` of the environment, where the program `oneact` finds it. Install
it with `pip install 'oneact[duckdb]'`. It contains no Python code. The library is the one of DuckDB's npm package
{package} {version}, unchanged.
"""


def pinned():
    return json.loads((HOME / "packaging" / "libduckdb.json").read_text())


def fetched(package, version, integrity):
    """The files of an npm package, if it is the one that was pinned."""
    with tempfile.TemporaryDirectory() as scratch:
        # Else npm takes its settings from the directory in which this was started.
        done = subprocess.run(
            ["npm", "pack", "--silent", "--prefer-offline", f"{package}@{version}"],
            cwd=scratch, stdout=subprocess.PIPE, text=True,
        )
        if done.returncode:
            raise SystemExit(f"npm cannot fetch {package}@{version}")
        path = Path(scratch, done.stdout.strip())
        got = "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
        if got != integrity:
            raise SystemExit(f"{package}@{version} has the hash {got}; packaging/libduckdb.json has {integrity}")
        with tarfile.open(path) as archive:
            names = ("package/libduckdb.so", "package/LICENSE")
            library, licence = (archive.extractfile(name).read() for name in names)
    return library, licence


def make(release, out):
    pin = pinned()
    package = f"@duckdb/node-bindings-linux-{release.npm}"
    library, licence = fetched(package, pin["version"], pin["integrity"][release.npm])
    with tempfile.NamedTemporaryFile() as file:
        file.write(library)
        file.flush()
        tag = package_wheel.tag(Elf(file.name))
    # The part after the dash counts DuckDB's releases of the npm package.
    version = pin["version"].split("-")[0]
    name = f"oneact_libduckdb-{version}"
    metadata = [
        "Metadata-Version: 2.4",
        "Name: oneact-libduckdb",
        f"Version: {version}",
        "Summary: DuckDB's library, for the SQL of oneact's plans",
        "License-Expression: MIT",
        "License-File: LICENSE",
        "Requires-Python: >=3.10",
        f"Project-URL: Repository, {release.repository}",
        "Description-Content-Type: text/markdown",
        "",
        README.format(package=package, version=pin["version"]),
    ]
    files = {
        f"{name}.data/data/lib/libduckdb.so": (library, 0o755),
        f"{name}.dist-info/METADATA": ("\n".join(metadata).encode(), 0o644),
        f"{name}.dist-info/licenses/LICENSE": (licence, 0o644),
    }
    path = out / f"{name}-{tag}.whl"
    package_wheel.write(release, path, tag, f"{name}.dist-info", files)
    return [path]
