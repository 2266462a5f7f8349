"""Fetches the console's front-end files from npm, once, into the repository, and locks what came.

Run by a person who updates them: `python -m infra.console.vendoring`. Pages never need npm.
The only change made to a file is the removal of its source-map comment, since maps are not kept.
"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).parent / "static" / "vendor"
LOCK = VENDOR / "vendor.lock.json"
SOURCE_MAP = re.compile(rb"\n?(//|/\*)[#@] sourceMappingURL=[^\n*]*(\*/)?\s*$")
SVG_BODY = re.compile(r"<svg[^>]*>(.*)</svg>", re.DOTALL)
BOUNDING_PATH = '<path stroke="none" d="M0 0h24v24H0z" fill="none" />'


@dataclass(frozen=True, slots=True)
class Package:
    """One npm package: the version we tested and the files we keep (path there -> our name)."""

    name: str
    version: str
    licence: str
    folder: str
    files: tuple[tuple[str, str], ...]


PACKAGES = (
    Package(
        "bootstrap", "5.3.9", "MIT", "bootstrap",
        (("dist/css/bootstrap.min.css", "bootstrap.min.css"), ("LICENSE", "LICENSE")),
    ),
    Package(
        "htmx.org", "2.0.11", "0BSD", "htmx",
        (("dist/htmx.min.js", "htmx.min.js"), ("LICENSE", "LICENSE")),
    ),
    Package(
        "idiomorph", "0.7.4", "0BSD", "idiomorph",
        (("dist/idiomorph-ext.min.js", "idiomorph-ext.min.js"), ("LICENSE", "LICENSE")),
    ),
    Package(
        "@xterm/xterm", "6.0.0", "MIT", "xterm",
        (("lib/xterm.js", "xterm.js"), ("css/xterm.css", "xterm.css"), ("LICENSE", "LICENSE")),
    ),
    Package(
        "@xterm/addon-fit", "0.11.0", "MIT", "xterm-addon-fit",
        (("lib/addon-fit.js", "addon-fit.js"), ("LICENSE", "LICENSE")),
    ),
    Package(
        "tinykeys", "3.1.0", "MIT", "tinykeys",
        (("dist/tinykeys.umd.js", "tinykeys.umd.js"), ("LICENSE", "LICENSE")),
    ),
    Package(
        "@fontsource-variable/inter", "5.3.0", "OFL-1.1", "inter",
        (("files/inter-latin-wght-normal.woff2", "inter-latin.woff2"), ("LICENSE", "LICENSE")),
    ),
    Package("@tabler/icons", "3.52.0", "MIT", "tabler-icons", (("LICENSE", "LICENSE"),)),
)  # fmt: skip

ICONS = (
    "activity",
    "adjustments-horizontal",
    "affiliate",
    "alert-triangle",
    "arrow-back-up",
    "arrow-down",
    "arrow-right",
    "arrow-up",
    "ban",
    "bolt",
    "certificate",
    "check",
    "chevron-down",
    "chevron-left",
    "chevron-right",
    "circle",
    "circle-check",
    "circle-dashed",
    "circle-half-2",
    "circle-minus",
    "circle-x",
    "clock",
    "code",
    "columns-3",
    "command",
    "copy",
    "cpu",
    "device-desktop",
    "disc",
    "door-enter",
    "dots",
    "download",
    "droplet",
    "file-code",
    "filter",
    "ghost-2",
    "help",
    "help-circle",
    "history",
    "info-circle",
    "key",
    "keyboard",
    "layout-dashboard",
    "link",
    "list-check",
    "loader-2",
    "lock",
    "lock-open",
    "login-2",
    "logout",
    "map-pin",
    "menu-2",
    "moon",
    "pencil",
    "player-pause",
    "player-play",
    "player-stop",
    "plug-connected-x",
    "plus",
    "refresh",
    "rotate-clockwise-2",
    "search",
    "selector",
    "server-2",
    "shield-check",
    "sitemap",
    "stack-2",
    "sun",
    "tag",
    "terminal-2",
    "trash",
    "upload",
    "user-circle",
    "users",
    "x",
)
"""The drawings the templates use; a test fails when a template names one that is not here."""


def fetch(package: Package, into: Path) -> Path:
    """Return the unpacked folder of one package, downloaded by npm."""
    subprocess.run(
        ["npm", "pack", "--silent", f"{package.name}@{package.version}"], cwd=into, check=True
    )
    archive = next(into.glob("*.tgz"))
    with tarfile.open(archive) as tar:
        tar.extractall(into, filter="data")
    return into / "package"


def build_sprite(icons: Path) -> bytes:
    """Return one SVG document with a symbol per icon."""
    symbols = []
    for name in ICONS:
        body = SVG_BODY.search((icons / f"{name}.svg").read_text())
        if body is None:
            raise ValueError(f"{name} is not an SVG drawing")
        lines = body.group(1).replace(BOUNDING_PATH, "").split("\n")
        drawing = "".join(line.strip() for line in lines)
        symbols.append(f'<symbol id="{name}" viewBox="0 0 24 24">{drawing}</symbol>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"
    ).encode()


def keep(package: Package, unpacked: Path) -> dict[str, str]:
    """Write the files we keep; return their names and digests."""
    folder = VENDOR / package.folder
    folder.mkdir(parents=True, exist_ok=True)
    contents = {ours: (unpacked / theirs).read_bytes() for theirs, ours in package.files}
    if package.folder == "tabler-icons":
        contents["icons.svg"] = build_sprite(unpacked / "icons" / "outline")
    digests = {}
    for name, content in sorted(contents.items()):
        kept = SOURCE_MAP.sub(b"\n", content)
        (folder / name).write_bytes(kept)
        digests[f"{package.folder}/{name}"] = hashlib.sha256(kept).hexdigest()
    return digests


def main() -> int:
    """Fetch everything and write the lock; return the exit code."""
    entries = []
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as folder:
            files = keep(package, fetch(package, Path(folder)))
        entries.append(
            {
                "name": package.name,
                "version": package.version,
                "licence": package.licence,
                "files": files,
            }
        )
        sys.stdout.write(f"{package.name} {package.version}\n")
    LOCK.write_text(json.dumps({"packages": entries}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
