"""The example of the first run: the manifest of the docs, with an image built on this machine."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.installation import Installation, child_environment
from infra.bootstrap.places import CHECKOUT
from infra.bootstrap.processes import program
from infra.bootstrap.progress import Progress
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.supervisor import Supervisor, log_tail
from infra.bootstrap.systempackages import as_root

MANIFEST = CHECKOUT / "docs" / "examples" / "hello.yaml"
DROPLET = "hello"

RUNNING_SECONDS = 180.0
"""A guest without acceleration, on a machine busy with other things, needs a fraction of this."""

BOOT_SECONDS = 120.0
GREETING = "HELLO "

LOOK_AGAIN_SECONDS = 0.5
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Seen:
    """What the API says of the droplet, and why, when there is a reason. Empty: not known."""

    state: str = ""
    reason: str = ""
    id: str = ""


class Example:
    """Builds, declares and watches the example of one installation."""

    def __init__(
        self, supervisor: Supervisor, installation: Installation, progress: Progress
    ) -> None:
        self._supervisor = supervisor
        self._installation = installation
        self._progress = progress
        self._environment = {
            **child_environment(installation),
            "INFRA_URL": installation.url.rstrip("/"),
        }

    def show(self) -> None:
        """Declare the example and wait for its guest; say why when it does not run.

        Never raises CannotContinue: the installation is sound without its example.
        """
        try:
            manifest = self._write_manifest(self._build())
            with self._progress.step("Declaring docs/examples/hello.yaml"):
                self._run([program("infra"), "apply", "--no-wait", "-f", str(manifest)], "apply")
            self._wait()
        except CannotContinue as error:
            self._progress.say("The example does not run; everything else does.")
            self._progress.plain(str(error))

    def _build(self) -> Path:
        """Return the image, in the store under its digest."""
        store = self._installation.places.images
        draft = store / "hello.new"
        command = [program("python"), "-m", "infra.bootstrap.guestimage", "hello", str(draft)]
        with self._progress.step("Building the image hello") as outcome:
            if not offers_kernel():
                update_package_lists()
            digest = self._run(command, "guestimage").split()[0]
            image = store / digest
            draft.chmod(0o644)
            draft.replace(image)
            outcome.text = f"{image.stat().st_size / 2**20:.0f} MiB, sha256 {digest[:12]}"
        return image

    def _write_manifest(self, image: Path) -> Path:
        path = self._installation.places.data / "hello.yaml"
        facts = {"sha256": f'"{image.name}"', "size_bytes": str(image.stat().st_size)}
        path.write_text(filled_in(MANIFEST.read_text(), facts))
        return path

    def _wait(self) -> None:
        with self._progress.step("The droplet hello") as outcome:
            last = Seen()

            def runs() -> bool:
                nonlocal last
                seen = self._look()
                if seen != last and seen.state not in {"", "running"}:
                    self._progress.say(f"  {seen.state}{f': {seen.reason}' * bool(seen.reason)}")
                last = seen
                return seen.state == "running"

            if not self._supervisor.wait_until(
                runs, seconds=RUNNING_SECONDS, every=LOOK_AGAIN_SECONDS
            ):
                outcome.text = f"still {last.state or 'unseen'}; see: infra describe droplet hello"
                return
            outcome.text = "runs"
        self._show_console(last.id)

    def _show_console(self, droplet_id: str) -> None:
        """Print the guest's first words, from where the agent keeps what it wrote."""
        droplets = self._installation.places.node / "storage" / "droplets"
        console = droplets / droplet_id / "console.log"
        with self._progress.step("Its serial console") as outcome:
            spoke = self._supervisor.wait_until(
                lambda: bool(greeting(console)), seconds=BOOT_SECONDS, every=LOOK_AGAIN_SECONDS
            )
            outcome.text = f"says {greeting(console)!r}" if spoke else "is still silent"

    def _look(self) -> Seen:
        places = self._installation.places
        token = (places.data / "secrets" / "cli_token").read_text().strip()
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._installation.ports.web, timeout=PATIENCE_SECONDS
        )
        try:
            headers = {"Authorization": f"Bearer {token}"}
            connection.request("GET", f"/api/v1/droplets/{DROPLET}", headers=headers)
            return parse_seen(connection.getresponse().read())
        except (OSError, http.client.HTTPException):
            return Seen()
        finally:
            connection.close()

    def _run(self, argv: list[str], name: str) -> str:
        log = self._installation.places.log
        said, errors = log / f"{name}.out", log / f"{name}.log"
        code = self._supervisor.run(
            argv, env=self._environment, cwd=CHECKOUT, said=said, errors=errors
        )
        if code != 0:
            raise CannotContinue(log_tail(errors) or log_tail(said))
        return said.read_text(errors="replace")


def filled_in(manifest: str, facts: Mapping[str, str]) -> str:
    """Return the manifest with the values of these keys replaced, comments kept (pure)."""
    for key, value in facts.items():
        manifest = re.sub(rf"(?m)^(\s*{key}:).*$", rf"\g<1> {value}", manifest)
    return manifest


def parse_seen(body: bytes) -> Seen:
    """Return what an answer of the API says of a droplet (pure)."""
    try:
        document = json.loads(body)
    except json.JSONDecodeError:
        return Seen()
    if not isinstance(document, dict):
        return Seen()
    state, why, key = (str(document.get(name) or "") for name in ("state", "why", "id"))
    return Seen(state, why, key)


def greeting(console: Path) -> str:
    """Return the line with which the guest says that it is up; empty while it has not."""
    try:
        lines = console.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return next((line.strip() for line in lines if line.startswith(GREETING)), "")


def offers_kernel() -> bool:
    """Return whether apt's lists are there: a machine that needed nothing never fetched them."""
    command = ["apt-cache", "show", "--no-all-versions", "linux-image-cloud-amd64"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0 and bool(done.stdout.strip())


def update_package_lists() -> None:
    """Fetch apt's lists. Raises CannotContinue where there is no apt or no way to be root."""
    sudo = as_root()
    words = [*sudo, *(["-n"] if sudo else []), "apt-get", "update", "-q"]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise CannotContinue("The image hello is built from Debian's packages, by apt.") from None
    if done.returncode != 0:
        raise CannotContinue(f"apt-get update failed: {done.stderr.strip()[-1000:]}")
