"""Takes files out of Debian packages without installing them on this machine.

apt checks the signatures; nothing here runs a maintainer's script or needs root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.guestimage.commands import Say, run
from infra.bootstrap.guestimage.image import BuildFailed, digest_of


@dataclass(frozen=True)
class Archive:
    """A package file the mirror offers: its name, its size in bytes, and its SHA-256 if told."""

    filename: str
    size: int
    sha256: str | None


def parse_uris(text: str) -> list[Archive]:
    """Return the archives in the answer of `apt-get download --print-uris` (pure)."""
    rows = [line.split() for line in text.splitlines() if line.startswith("'")]
    return [
        Archive(filename, int(size), _sha256(digests)) for _url, filename, size, *digests in rows
    ]


def _sha256(digests: Sequence[str]) -> str | None:
    named = (word.partition(":") for word in digests)
    return next((value for kind, _, value in named if kind == "SHA256"), None)


def parse_dependency(text: str, prefix: str) -> str | None:
    """Return the first package in the `Depends:` of `apt-cache show` with this prefix (pure)."""
    for line in text.splitlines():
        if not line.startswith("Depends:"):
            continue
        names = [part.split()[0] for part in line.removeprefix("Depends:").split(",")]
        return next((name for name in names if name.startswith(prefix)), None)
    return None


def kernel_package(metapackage: str) -> str:
    """Return the package that holds the kernel the metapackage stands for today."""
    shown = run("apt-cache", "show", "--no-all-versions", metapackage)
    found = parse_dependency(shown, "linux-image-")
    if found is None:
        raise BuildFailed(f"The package {metapackage} names no kernel image.")
    return found


def unpack(names: Sequence[str], into: Path, *, archives: Path, say: Say) -> None:
    """Fill the folder `into` with the files of these packages, as they would lie in a root folder.

    Archives are kept in `archives` and fetched again only when the mirror has others.
    """
    archives.mkdir(parents=True, exist_ok=True)
    wanted = _offered(names)
    missing = [archive for archive in wanted if not _is_whole(archive, archives)]
    if missing:
        mib = sum(archive.size for archive in missing) / 2**20
        say(f"Fetching {len(missing)} Debian packages ({mib:.0f} MiB): {', '.join(names)}")
        for archive in missing:  # apt takes a file of the right length for the right one
            (archives / archive.filename).unlink(missing_ok=True)
        # As root, apt would drop to a user who cannot write here, and warn about it.
        run("apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", *names, cwd=archives)
        if spoilt := [archive.filename for archive in wanted if not _is_whole(archive, archives)]:
            raise BuildFailed(f"Fetched, but not as the mirror lists them: {', '.join(spoilt)}.")
    into.mkdir(parents=True)
    for archive in wanted:
        run("dpkg-deb", "--extract", archives / archive.filename, into)


def _offered(names: Sequence[str]) -> list[Archive]:
    try:
        answer = run("apt-get", "download", "-q", "--print-uris", *names)
    except BuildFailed as error:
        raise BuildFailed(
            f"apt does not offer {', '.join(names)}. Run `apt-get update` as root, and check that "
            f"this is Debian 12 or newer on amd64. ({error})"
        ) from error
    return parse_uris(answer)


def _is_whole(archive: Archive, archives: Path) -> bool:
    path = archives / archive.filename
    if not path.is_file() or path.stat().st_size != archive.size:
        return False
    return archive.sha256 is None or digest_of(path) == archive.sha256


def only(root: Path, *patterns: str) -> Path:
    """Return the one path below root that matches one of the patterns.

    Raises BuildFailed on none or several.
    """
    found = sorted({path for pattern in patterns for path in root.glob(pattern)})
    if len(found) != 1:
        raise BuildFailed(f"Expected one {' or '.join(patterns)}, found {len(found)}.")
    return found[0]
