"""The steps from a prepared machine to a running installation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from infra.bootstrap import postgres, redisserver
from infra.bootstrap.children import Child, ProcessSpec
from infra.bootstrap.installation import Installation, child_environment
from infra.bootstrap.places import CHECKOUT
from infra.bootstrap.processes import (
    agent,
    control_plane,
    enrol_command,
    program,
    redirect_command,
)
from infra.bootstrap.progress import Progress
from infra.bootstrap.record import Choices, read_choices, write_choices
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.supervisor import Supervisor, log_tail

DOORS = {"web", "edge"}
"""Processes that others dial; the rest may become ready while those are used already."""


@dataclass(frozen=True)
class Facts:
    """What `./manage.py install --json` told. Secrets are None when there was nothing to make."""

    installation_id: str
    admin_password: str | None
    node_token: str | None
    declare_example: bool


def parse_facts(text: str) -> Facts:
    """Return the facts in the command's answer (pure). Raises CannotContinue."""
    try:
        told = json.loads(text)
        return Facts(
            installation_id=str(told.get("installation_id") or ""),
            admin_password=told.get("admin_password"),
            node_token=told.get("node_token"),
            declare_example=bool(told.get("declare_example")),
        )
    except (json.JSONDecodeError, AttributeError):
        raise CannotContinue(f"`install --json` gave no JSON object: {text[-500:]!r}") from None


class Start:
    """The start of one installation, step by step."""

    def __init__(
        self, installation: Installation, supervisor: Supervisor, progress: Progress
    ) -> None:
        self._installation = installation
        self._supervisor = supervisor
        self._progress = progress
        self._behind: list[Child] = []

    def servers(self, *, throw_away: bool = False) -> None:
        """Start the private PostgreSQL and Redis, each unless a URL names another."""
        places = self._installation.places
        if self._installation.database_url:
            self._progress.say("PostgreSQL: the one of INFRA_DATABASE_URL")
        else:
            cluster = postgres.Cluster(
                places, postgres.find_programs(places.cluster), throw_away=throw_away
            )
            with self._progress.step("PostgreSQL") as outcome:
                is_new = postgres.prepare(cluster)
                self._start([postgres.spec(cluster)])
                postgres.ensure_database(cluster)
                outcome.text = "new private cluster is ready" if is_new else "ready"
        if self._installation.redis_url:
            self._progress.say("Redis: the one of INFRA_REDIS_URL")
        else:
            with self._progress.step("Redis") as outcome:
                redisserver.prepare(places)
                self._start([redisserver.spec(places)])
                outcome.text = "ready"

    def declare_installation(self, *, bare: bool) -> Facts:
        """Bring the schema up to date, make what a first run needs, and return what was made."""
        with self._progress.step("Database schema and installation") as outcome:
            words = ["install", "--migrate", "--json", "--skip-checks"]
            facts = parse_facts(self._run(*words, *(["--bare"] if bare else [])))
            outcome.text = "up to date"
            return replace(facts, admin_password=self._keep_password(facts.admin_password))

    def _keep_password(self, made: str | None) -> str | None:
        """Return the password that nobody has seen yet: made now, or by a start that failed."""
        path = self._installation.places.unseen_password
        if made is None:
            return path.read_text() if path.exists() else None
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(made)
        return made

    def control_plane(self) -> None:
        """Start web, edge, workers and beat together; return when web and edge answer."""
        specs = control_plane(self._installation)
        doors = [spec for spec in specs if spec.name in DOORS]
        with self._progress.step(titles(doors)) as outcome:
            children = [self._supervisor.start(spec) for spec in specs]
            self._wait([child for child in children if child.spec.name in DOORS])
            outcome.text = "ready"
        self._behind = [child for child in children if child.spec.name not in DOORS]

    def all_ready(self) -> None:
        """Return when also those processes are ready that nobody talks to."""
        with self._progress.step(titles([child.spec for child in self._behind])) as outcome:
            self._wait(self._behind)
            outcome.text = "ready"

    def node(self, facts: Facts, *, libvirt_uri: str) -> None:
        """Enrol this machine when there is a token for it, and start its agent."""
        choices = Choices(self._installation.ports.web, libvirt_uri, facts.installation_id)
        moved = read_choices(self._installation.places).port not in {None, choices.port}
        write_choices(self._installation.places, choices)
        if moved and not facts.node_token:
            with self._progress.step("This machine") as outcome:
                self._run_program(redirect_command(self._installation), "redirect")
                outcome.text = "told of the new port"
        if facts.node_token:
            with self._progress.step("This machine") as outcome:
                command = enrol_command(self._installation, facts.node_token)
                self._run_program(command, "enrol")
                outcome.text = "enrolled as a node"
        with self._progress.step("Node agent") as outcome:
            self._start([agent(self._installation, libvirt_uri=libvirt_uri)])
            outcome.text = "started"

    def _start(self, specs: Sequence[ProcessSpec]) -> None:
        self._wait([self._supervisor.start(spec) for spec in specs])

    def _wait(self, children: Sequence[Child]) -> None:
        for child in children:
            self._supervisor.wait_ready(child)

    def _run(self, *words: str) -> str:
        """Run a Django command and return what it wrote."""
        manage = (program("python"), str(CHECKOUT / "manage.py"))
        return self._run_program((*manage, *words), words[0])

    def _run_program(self, argv: Sequence[str], name: str) -> str:
        log = self._installation.places.log
        said, errors = log / f"{name}.out", log / f"{name}.log"
        try:
            code = self._supervisor.run(
                argv,
                env=child_environment(self._installation),
                cwd=CHECKOUT,
                said=said,
                errors=errors,
            )
            words = said.read_text(errors="replace")
        finally:
            # It may hold the password that is shown once.
            said.unlink(missing_ok=True)
        if code != 0:
            raise CannotContinue(f"{name} failed:\n{log_tail(errors)}\n{last_lines(words)}")
        return words


def titles(specs: Sequence[ProcessSpec]) -> str:
    """Return the names of processes for people (pure)."""
    return ", ".join(spec.title for spec in specs)


def last_lines(text: str, count: int = 10) -> str:
    """Return the end of a text (pure)."""
    return "\n".join(text.strip().splitlines()[-count:])
