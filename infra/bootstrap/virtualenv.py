"""The virtual environment: made from the lock files, and left alone while they are the same."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from infra.bootstrap.places import CHECKOUT, VENV
from infra.bootstrap.progress import Progress
from infra.bootstrap.refusals import CannotContinue

LOCKS = {"product": "requirements.lock", "tests": ".ci/requirements.lock"}

STAMP = "infra-stamp.json"

LAYOUT = "2"
"""Part of every stamp; another number makes every environment new."""

PROGRAMS = {"infra": "infra.cli.main", "infra-agent": "agent.main"}
"""The checkout's own programs and the modules whose `run` they call."""

METADATA = "Metadata-Version: 2.1\nName: infra\nVersion: {version}\n"

PROGRAM_TEXT = """#!{python}
import sys

from {module} import run

if __name__ == "__main__":
    sys.exit(run())
"""


def venv_python(venv: Path = VENV) -> Path:
    """Return the environment's Python."""
    return venv / "bin" / "python"


def wanted_stamp(checkout: Path, venv: Path, *, parts: Sequence[str]) -> dict[str, str]:
    """Return, per part, a digest of all that would make its installation a different one.

    The Python that counts is the one the environment was made with, whichever runs this.
    """
    python = venv_python(venv).resolve()
    base = "\0".join((LAYOUT, project_version(checkout), str(checkout), str(venv), str(python)))
    return {
        part: hashlib.sha256(base.encode() + (checkout / LOCKS[part]).read_bytes()).hexdigest()
        for part in parts
    }


def read_stamp(venv: Path) -> dict[str, str]:
    """Return what was installed completely; empty when nothing is known to be."""
    try:
        stamp = json.loads((venv / STAMP).read_text())
        return {str(key): str(value) for key, value in stamp.items()}
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, AttributeError):
        return {}


def is_current() -> bool:
    """Return whether the product's locked packages are installed."""
    wanted = wanted_stamp(CHECKOUT, VENV, parts=("product",))
    return read_stamp(VENV).get("product") == wanted["product"]


def ensure_virtualenv(*, tests: bool, progress: Progress) -> Path:
    """Return the environment's Python, with the locked packages installed.

    Raises CannotContinue with the end of the installer's output.
    """
    parts = ("product", "tests") if tests else ("product",)
    with _one_at_a_time():
        wanted = wanted_stamp(CHECKOUT, VENV, parts=parts)
        have = read_stamp(VENV)
        todo = [part for part in parts if have.get(part) != wanted[part]]
        if not todo:
            progress.say("Python environment: up to date")
            return venv_python()
        fresh = not have or "product" in todo
        with progress.step(f"Installing the Python environment ({' and '.join(todo)})") as outcome:
            outcome.text = _install(todo, fresh=fresh)
            write_programs(VENV, CHECKOUT)
        kept = {} if fresh else have
        (VENV / STAMP).write_text(json.dumps({**kept, **wanted_stamp(CHECKOUT, VENV, parts=todo)}))
    return venv_python()


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Hold a lock on the checkout: two installations may come up from it at once."""
    with (CHECKOUT / "manage.py").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(parts: Sequence[str], *, fresh: bool) -> str:
    """Install the parts' locks and return with which installer."""
    if fresh:
        _run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    locks = [word for part in parts for word in ("-r", str(CHECKOUT / LOCKS[part]))]
    python = str(venv_python())
    pip = [python, "-m", "pip", "install", "--quiet", "--require-hashes"]
    try:
        _run([*pip, "-r", str(Path(__file__).with_name("uv.txt"))])
        environment = uv_environment(_pip_index(python), os.environ)
        uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", python]
        _run([*uv, "--require-hashes", *locks], environment)
    except CannotContinue:
        # Mirrors and configurations that only pip knows are common; pip's own error counts.
        _run([*pip, *locks])
        return "done with pip"
    return "done with uv"


def uv_environment(index: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for uv: told of pip's package index unless it has its own."""
    if not index or any(name in environment for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        return dict(environment)
    return {**environment, "UV_DEFAULT_INDEX": index}


def _pip_index(python: str) -> str:
    """Return the package index that pip is configured to use; empty for its default."""
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    command = [python, "-m", "pip", "config", "get", "global.index-url"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        cwd=CHECKOUT,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-20:])
        raise CannotContinue(f"This failed: {' '.join(command)}\n{tail}")


def project_version(checkout: Path) -> str:
    """Return the product's version."""
    return str(tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["version"])


def write_programs(venv: Path, checkout: Path) -> None:
    """Make the checkout importable in the environment, and write its two programs there."""
    python = venv_python(venv)
    base = {"base": str(venv), "platbase": str(venv)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=base))
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "infra-checkout.pth").write_text(f"{checkout}\n")
    version = project_version(checkout)
    # What `importlib.metadata` reads; the code itself stays in the checkout.
    described = packages / f"infra-{version}.dist-info"
    described.mkdir(exist_ok=True)
    (described / "METADATA").write_text(METADATA.format(version=version))
    for name, module in PROGRAMS.items():
        program = venv / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(PROGRAM_TEXT.format(python=python, module=module))
        program.chmod(0o755)
