"""The packages between whose versions scripts/check-diffs compares: their names, their archives, and their trees.

The ordinary clients of the registries (`npm`, `pip` and `cargo`) download them.
"""

import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# One package a line: its registry, its name, and the versions to compare, each with the next one.
PACKAGES = """
npm semver 7.6.0 7.6.1 7.6.2 7.6.3 7.7.0 7.7.1 7.7.2 7.7.3 7.7.4 7.8.0 7.8.1 7.8.2 7.8.3 7.8.4 7.8.5 7.8.6
npm debug 4.0.0 4.0.1 4.1.0 4.1.1 4.2.0 4.3.0 4.3.1 4.3.2 4.3.3 4.3.4 4.3.5 4.3.6 4.3.7 4.4.0 4.4.1 4.4.3
npm commander 9.4.1 9.5.0 10.0.0 10.0.1 11.0.0 11.1.0 12.0.0 12.1.0 13.0.0 13.1.0 14.0.0 14.0.1 14.0.2 14.0.3 15.0.0 15.1.0
npm yargs-parser 20.0.0 20.1.0 20.2.0 20.2.1 20.2.2 20.2.3 20.2.4 20.2.5 20.2.6 20.2.7 20.2.9 21.0.0 21.0.1 21.1.0 21.1.1 22.0.0
npm qs 6.13.3 6.13.4 6.14.0 6.14.1 6.14.2 6.14.3 6.15.0 6.15.1 6.15.2 6.15.3 6.15.4 6.16.0 6.16.1 6.16.2 6.17.0 6.17.1
npm express 4.19.1 4.19.2 4.20.0 4.21.0 4.21.1 4.21.2 4.22.0 4.22.1 4.22.2 4.22.3 5.0.0 5.0.1 5.1.0 5.2.0 5.2.1 5.3.0
npm ejs 3.0.1 3.0.2 3.1.2 3.1.3 3.1.5 3.1.6 3.1.7 3.1.8 3.1.9 3.1.10 4.0.1 5.0.1 5.0.2 6.0.1 7.0.1 7.0.2
npm dotenv 17.3.0 17.3.1 17.4.0 17.4.1 17.4.2 18.0.0 18.0.1 18.0.2 18.0.3 18.0.4 18.0.5 18.0.6 18.0.7 18.0.8 18.0.9 18.0.10
npm minimatch 10.2.1 10.2.2 10.2.3 10.2.4 10.2.5 10.2.6 11.0.0 11.0.1 11.0.2 11.0.3 11.0.4 11.0.5 11.0.6 11.0.7 11.0.8 11.0.9
npm type-fest 5.3.1 5.4.0 5.4.1 5.4.2 5.4.3 5.4.4 5.5.0 5.6.0 5.7.0 5.8.0 5.9.0 5.10.0 6.0.0 6.0.1 6.0.2 6.0.3
npm immer 11.1.11 11.1.12 11.1.13 11.1.14 11.1.15 11.1.16 11.1.17 11.1.18 11.1.19 11.1.20 11.1.21 11.2.3 11.2.7 11.2.9 11.2.10 11.2.13
npm nan 2.20.0 2.21.0 2.22.0 2.22.1 2.22.2 2.23.0 2.23.1 2.24.0 2.25.0 2.26.0 2.26.1 2.26.2 2.27.0 2.28.0 2.29.0 2.30.0
npm node-addon-api 7.1.1 8.0.0 8.1.0 8.2.0 8.2.1 8.2.2 8.3.0 8.3.1 8.4.0 8.5.0 8.6.0 8.7.0 8.8.0 8.9.0 8.9.1 8.9.2
npm bufferutil 3.0.1 3.0.2 3.0.3 3.0.4 3.0.5 4.0.0 4.0.1 4.0.2 4.0.3 4.0.4 4.0.5 4.0.6 4.0.7 4.0.8 4.0.9 4.1.0
npm react-native-svg 15.10.1 15.11.0 15.11.1 15.11.2 15.12.0 15.12.1 15.13.0 15.14.0 15.15.0 15.15.1 15.15.2 15.15.3 15.15.4 15.15.5 15.16.0 15.16.1
npm react-native-device-info 10.14.0 11.1.0 12.0.0 12.1.0 13.0.0 13.1.0 13.2.0 14.0.0 14.0.1 14.0.2 14.0.4 14.1.0 14.1.1 15.0.0 15.0.1 15.0.2
npm @react-native-async-storage/async-storage 1.22.2 1.22.3 1.23.0 1.23.1 1.24.0 2.0.0 2.1.0 2.1.1 2.1.2 2.2.0 3.0.0 3.0.1 3.0.2 3.0.3 3.1.0 3.1.1
npm react-native-safe-area-context 5.4.1 5.5.0 5.5.1 5.5.2 5.6.0 5.6.1 5.6.2 5.7.0 5.8.0 5.8.1 5.9.0 5.9.1 5.10.0 5.10.1 5.11.0 5.11.1
npm react-native-share 11.1.0 12.0.0 12.0.3 12.0.7 12.0.9 12.0.11 12.1.0 12.1.1 12.1.2 12.2.0 12.2.1 12.2.2 12.2.4 12.2.5 12.2.6 12.3.1
npm react-native-permissions 5.2.4 5.2.5 5.2.6 5.3.0 5.4.0 5.4.1 5.4.2 5.4.3 5.4.4 5.5.0 5.5.1 5.5.2 5.5.3 5.6.0 5.6.1 5.6.2
npm tree-sitter-json 0.13.1 0.14.0 0.15.1 0.16.0 0.19.0 0.20.0 0.20.1 0.20.2 0.21.0 0.23.0 0.24.2 0.24.3 0.24.4 0.24.5 0.24.7 0.24.8
npm marked 18.0.5 18.0.6 18.0.7 18.0.8 18.0.9 18.0.10 18.0.11 18.0.12 18.0.13 18.0.14 18.1.0 18.1.1 18.1.2 18.1.3 18.2.0 18.2.1
pypi attrs 20.3.0 21.2.0 21.3.0 21.4.0 22.1.0 22.2.0 23.1.0 23.2.0 24.1.0 24.2.0 24.3.0 25.1.0 25.2.0 25.3.0 25.4.0 26.1.0
pypi click 8.1.4 8.1.5 8.1.6 8.1.7 8.1.8 8.2.0 8.2.1 8.3.0 8.3.1 8.3.2 8.3.3 8.4.0 8.4.1 8.4.2 8.5.0 8.5.1
pypi idna 3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15 3.16 3.17 3.18 3.19 3.20
pypi packaging 21.1 21.2 21.3 22.0 23.0 23.1 23.2 24.0 24.1 24.2 25.0 26.0 26.1 26.2 26.3 26.4
pypi Jinja2 2.10.3 2.11.0 2.11.1 2.11.2 2.11.3 3.0.0 3.0.1 3.0.2 3.0.3 3.1.0 3.1.1 3.1.2 3.1.3 3.1.4 3.1.5 3.1.6
pypi requests 2.27.1 2.28.0 2.28.1 2.28.2 2.29.0 2.30.0 2.31.0 2.32.2 2.32.3 2.32.4 2.32.5 2.33.0 2.33.1 2.34.0 2.34.1 2.34.2
pypi urllib3 2.0.6 2.0.7 2.1.0 2.2.0 2.2.1 2.2.2 2.2.3 2.3.0 2.4.0 2.5.0 2.6.0 2.6.1 2.6.2 2.6.3 2.7.0 2.8.0
pypi tomli 1.1.0 1.2.0 1.2.1 1.2.2 1.2.3 2.0.0 2.0.1 2.0.2 2.1.0 2.2.1 2.3.0 2.3.1 2.3.2 2.4.0 2.4.1 2.5.0
pypi Werkzeug 3.0.1 3.0.2 3.0.3 3.0.4 3.0.5 3.0.6 3.1.0 3.1.1 3.1.2 3.1.3 3.1.4 3.1.5 3.1.6 3.1.7 3.1.8 3.1.9
pypi Flask 2.2.2 2.2.3 2.2.4 2.2.5 2.3.0 2.3.1 2.3.2 2.3.3 3.0.0 3.0.1 3.0.2 3.0.3 3.1.0 3.1.1 3.1.2 3.1.3
pypi typing-extensions 4.7.0 4.7.1 4.8.0 4.9.0 4.10.0 4.11.0 4.12.0 4.12.1 4.12.2 4.13.0 4.13.1 4.13.2 4.14.0 4.14.1 4.15.0 4.16.0
pypi platformdirs 4.13.0 4.13.1 4.13.2 4.13.3 4.13.4 4.13.5 4.13.6 4.13.7 4.14.0 4.14.2 4.14.3 4.14.4 4.14.5 4.14.6 4.14.7 4.14.8
pypi filelock 4.1.1 4.1.2 4.2.0 4.2.1 4.2.2 4.2.3 4.2.4 4.2.5 4.2.6 4.2.7 4.2.8 4.2.9 4.2.10 4.2.11 4.2.12 4.3.1
pypi more-itertools 9.1.0 10.0.0 10.1.0 10.2.0 10.3.0 10.4.0 10.5.0 10.6.0 10.7.0 10.8.0 11.0.0 11.0.1 11.0.2 11.1.0 11.2.0 11.2.1
pypi sqlparse 0.2.4 0.3.0 0.3.1 0.4.0 0.4.1 0.4.2 0.4.3 0.4.4 0.5.0 0.5.1 0.5.2 0.5.3 0.5.4 0.5.5 0.6.0 0.6.1
pypi pyflakes 2.3.1 2.4.0 2.5.0 3.0.0 3.0.1 3.1.0 3.2.0 3.3.0 3.3.1 3.3.2 3.4.0
pypi tqdm 4.66.4 4.66.5
crates anyhow 1.0.90 1.0.91 1.0.92 1.0.93 1.0.94 1.0.95 1.0.96 1.0.97 1.0.98 1.0.99 1.0.100 1.0.101 1.0.102 1.0.103 1.0.104 1.0.105
crates thiserror 2.0.6 2.0.7 2.0.8 2.0.9 2.0.10 2.0.11 2.0.12 2.0.13 2.0.14 2.0.15 2.0.16 2.0.17 2.0.18 2.0.19 2.0.20 2.0.21
crates semver 1.0.13 1.0.14 1.0.15 1.0.16 1.0.17 1.0.18 1.0.19 1.0.20 1.0.21 1.0.22 1.0.23 1.0.24 1.0.25 1.0.26 1.0.27 1.0.28
crates memchr 2.6.0 2.6.1 2.6.2 2.6.3 2.6.4 2.7.0 2.7.1 2.7.2 2.7.3 2.7.4 2.7.5 2.7.6 2.8.0 2.8.1 2.8.2 2.8.3
crates smallvec 1.11.2 1.12.0 1.13.1 1.13.2 1.14.0 1.15.0 1.15.1 1.15.2 1.16.0 1.16.1 1.16.2 1.16.3 1.16.4 1.16.5 1.16.6
crates log 0.4.20 0.4.21 0.4.22 0.4.25 0.4.26 0.4.27 0.4.28 0.4.29 0.4.30 0.4.31 0.4.32 0.4.33 0.4.34 0.4.35
crates httparse 1.4.0 1.4.1 1.5.0 1.5.1 1.6.0 1.7.0 1.7.1 1.8.0 1.9.3 1.9.4 1.9.5 1.10.0 1.10.1
crates quote 1.0.32 1.0.33 1.0.34 1.0.35 1.0.36 1.0.37 1.0.38 1.0.39 1.0.40 1.0.41 1.0.42 1.0.43 1.0.44 1.0.45 1.0.46 1.0.47
crates toml_edit 0.22.22 0.22.23 0.22.24 0.22.25 0.22.26 0.22.27 0.23.0 0.23.1 0.23.2 0.23.3 0.23.4 0.23.5 0.23.6 0.23.7 0.23.9
crates cc 1.4.3 1.4.4 1.4.5 1.4.6 1.4.7 1.5.0 1.5.1 1.6.0 1.7.0 1.8.0 1.9.0 1.10.0 1.11.0 1.11.1 1.11.2 1.11.3
crates tree-sitter-go 0.16.0 0.19.1 0.20.0 0.21.0 0.21.1 0.21.2 0.23.0 0.23.1 0.23.2 0.23.3 0.23.4 0.25.0
crates libsqlite3-sys 0.29.0 0.30.0 0.30.1 0.31.0 0.32.0 0.33.0 0.34.0 0.35.0 0.36.0 0.37.0 0.38.0 0.38.1 0.38.2 0.39.0 0.39.1 0.40.0
crates libz-sys 1.1.18 1.1.19 1.1.20 1.1.21 1.1.22 1.1.23 1.1.24 1.1.25 1.1.27 1.1.28 1.1.29 1.1.30 1.1.31 1.1.33
crates lz4-sys 1.0.1+1.7.3 1.0.1+1.7.5 1.7.5 1.8.0 1.8.2 1.8.3 1.9.2 1.9.3 1.9.4 1.9.5 1.10.0 1.11.0
crates tree-sitter-ruby 0.16.2 0.17.0 0.19.0 0.20.0 0.20.1 0.21.0 0.23.0 0.23.1
"""

# The directories in which oneact keeps its own files. No tree may have files there.
OWN = {"agent_outputs", "agent_logs", ".oneact"}


def download(cache, registry, name, version):
    """The archive of one version of a package; None if the registry does not have it as an archive of sources."""
    folder = os.path.join(cache, registry, f"{name.replace('/', '_')}-{version}")
    if not os.path.isdir(folder):
        scratch = tempfile.mkdtemp(dir=cache)
        commands = {
            "npm": ["npm", "pack", "--silent", "--pack-destination", scratch, f"{name}@{version}"],
            "pypi": ["pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                     "--platform", "any", "--dest", scratch, f"{name}=={version}"],
            "crates": ["cargo", "info", "--quiet", f"{name}@{version}"],
        }
        done = subprocess.run(commands[registry], cwd=scratch, capture_output=True, text=True)
        if registry == "crates" and done.returncode == 0:
            home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
            for crate in glob.glob(f"{glob.escape(home)}/registry/cache/*/{name}-{version}.crate"):
                shutil.copy(crate, scratch)
        if not os.listdir(scratch):
            print(f"not downloaded: {registry} {name} {version}: {done.stderr.strip()[:200]}", file=sys.stderr)
            os.rmdir(scratch)
            return None
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.rename(scratch, folder)
    return os.path.join(folder, os.listdir(folder)[0])


def unpack(archive):
    """The tree of an archive: path → (mode, content). The first directory of a tar archive is left out."""
    tree = {}
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                if not member.is_dir():
                    mode = "755" if member.external_attr >> 16 & 0o100 else "644"
                    tree[member.filename] = (mode, opened.read(member))
    else:
        with tarfile.open(archive, errors="surrogateescape") as opened:
            for member in opened:
                path = member.name.partition("/")[2]
                if member.isfile():
                    tree[path] = ("755" if member.mode & 0o100 else "644", opened.extractfile(member).read())
                elif member.issym() and not member.linkname.startswith(("/", "..")):
                    tree[path] = ("link", os.fsencode(member.linkname))
    unfit = [path for path in tree if not path or path.startswith("/") or {"..", ".git"} & set(path.split("/"))]
    return {path: entry for path, entry in tree.items() if path not in unfit and path.split("/")[0] not in OWN}
