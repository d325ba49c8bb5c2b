"""The archive of a release, which `cargo binstall` and people unpack."""

import io
import tarfile

from package_project import HOME, LICENCES, gzipped


def make(release, out):
    top = f"oneact-{release.version}-{release.machine}-unknown-linux-gnu"
    files = {"oneact": (release.binary.read_bytes(), 0o755)}
    for name in ["README.md", "CHANGELOG.md", *LICENCES]:
        files[name] = ((HOME / name).read_bytes(), 0o644)
    for name, page in release.pages.items():
        files[f"man/{name}"] = (page.encode(), 0o644)
    for shell, script in release.completions.items():
        files[f"completions/oneact.{shell}"] = (script.encode(), 0o644)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, (content, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), mode, release.moment
            archive.addfile(entry, io.BytesIO(content))
    path = out / f"{top}.tar.gz"
    path.write_bytes(gzipped(plain.getvalue(), release.level))
    return [path]
