"""One turn of one droplet: look, plan, write down the intent, act, look again, tell the end.

A turn runs in a thread of its own and never two of the same droplet at once. It ends when there
is nothing to do now; what it then waits for, and until when, it returns.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

import structlog

from agent import clock
from agent.actions import Action, FetchImage, RequestStop
from agent.apply import apply
from agent.drivers.base import DriverError, Hypervisor, ImageStream
from agent.failures import Hopeless, Trouble, judge
from agent.intents import Intents, Replaced
from agent.journal import Journal, Severity
from agent.ledger import Entry, Ledger
from agent.observed import Absent, Observed, Present, Unknown
from agent.planning.droplets import plan
from agent.planning.plans import Plan
from agent.planning.repair import REPAIR_AFTER_SECONDS, Licence, licence
from agent.protocol.declarations import DropletDeclaration, ImageReference
from agent.protocol.messages import StepOutcome
from agent.protocol.observations import DropletObservation, GuestPower
from agent.wording import clean

ACTIONS_PER_TURN = 12
"""More than any plan needs: a turn that goes on longer is going round in circles."""

CIRCLE_REST_SECONDS = 5.0
PROGRESS_LENGTH = 500
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class After:
    """What comes after a turn: look again in `seconds` (None: when woken), once `image` is here."""

    seconds: float | None = None
    image: ImageReference | None = None


@dataclass(frozen=True)
class Surroundings:
    """What turns work with. `link_silent` returns for how long the control plane was not heard.

    `told` is called after something changed that the control plane should hear of.
    """

    ledger: Ledger
    intents: Intents
    journal: Journal
    hypervisor: Hypervisor
    stream: ImageStream
    link_silent: Callable[[], float]
    told: Callable[[], None]
    repair_after_seconds: float = REPAIR_AFTER_SECONDS


class Turns:
    """Takes turns; remembers failures in a row and what to tell of steps that go on."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._lock = threading.Lock()
        self._troubles: dict[UUID, Trouble] = {}
        self._progress: dict[UUID, str] = {}

    def progress(self) -> Mapping[UUID, str]:
        """Return in words, by resource, where what is not finished stands."""
        with self._lock:
            return dict(self._progress)

    def forgive(self, resource_id: UUID) -> None:
        """Forget the failures of a droplet: a new order deserves a new attempt at once."""
        with self._lock:
            self._troubles.pop(resource_id, None)

    def miss_image(self, resource_id: UUID, error: DriverError) -> After:
        """Take note that the image the droplet waits for did not come."""
        entry = self._around.ledger.find(resource_id)
        return self._stumble(entry, error, doing=FetchImage.doing) if entry else After()

    def say(self, resource_id: UUID, text: str) -> None:
        """Tell where the droplet stands; the same words again are not told again."""
        text = clean(text, limit=PROGRESS_LENGTH)
        with self._lock:
            if self._progress.get(resource_id) == text:
                return
            self._progress[resource_id] = text
        self._around.told()

    def take(self, resource_id: UUID) -> After:
        """Bring one droplet as far as it goes now."""
        for _ in range(ACTIONS_PER_TURN):
            entry = self._around.ledger.find(resource_id)
            if entry is None:
                return After()
            rest = self._rest(resource_id)
            if rest > 0:
                return After(rest)
            after = self._move(entry)
            if after is not None:
                return after
        self.say(resource_id, "The droplet does not come to rest; it is looked at again soon.")
        return After(CIRCLE_REST_SECONDS)

    def _rest(self, resource_id: UUID) -> float:
        with self._lock:
            trouble = self._troubles.get(resource_id)
        return trouble.not_before - clock.steady() if trouble else 0.0

    def _move(self, entry: Entry) -> After | None:
        """Do the next thing; None asks for another look."""
        observed = self._look(entry)
        try:
            planned = self._plan(entry, observed)
        except DriverError as error:
            return self._stumble(entry, error, doing="Looking for the image")
        if planned.converged:
            return self._arrive(entry, observed)
        leave = self._licence(entry)
        self._mark_differing(entry, leave, planned, observed)
        if leave is Licence.NONE:
            return self._stand_by(entry)
        if planned.problem is not None:
            return self._end_hopeless(entry, Hopeless(planned.problem.code, planned.problem.text))
        if planned.waiting_on is not None:
            self.say(entry.declaration.resource_id, planned.waiting_on.text)
            return After(planned.waiting_on.seconds)
        action = planned.actions[0]
        if isinstance(action, FetchImage):
            self.say(entry.declaration.resource_id, f"{action.doing}.")
            return After(image=action.image)
        return self._act(entry, action)

    def _look(self, entry: Entry) -> Observed:
        try:
            return self._around.hypervisor.observe(entry.declaration.resource_id)
        except DriverError as error:
            return Unknown(str(error))

    def _plan(self, entry: Entry, observed: Observed) -> Plan:
        declaration = entry.declaration
        around = self._around
        if isinstance(observed, Absent) or _is_off(observed):
            around.intents.forget_stop(declaration.resource_id)
        ready = (
            isinstance(declaration, DropletDeclaration)
            and not isinstance(observed, Unknown)
            and around.hypervisor.has_image(declaration.image)
        )
        stop = around.intents.find_stop(declaration, steady=clock.steady())
        return plan(declaration, observed, image_ready=ready, stop=stop)

    def _licence(self, entry: Entry) -> Licence:
        return licence(
            ordered=bool(entry.steps),
            absent=entry.absent,
            reached=entry.reached,
            link_silent_seconds=self._around.link_silent(),
            after_seconds=self._around.repair_after_seconds,
        )

    def _arrive(self, entry: Entry, observed: Observed) -> After:
        """Write that the node matches, and end the steps that asked for it."""
        resource_id = entry.declaration.resource_id
        with self._lock:
            self._troubles.pop(resource_id, None)
            self._progress.pop(resource_id, None)
        if entry.steps or not entry.converged:
            self._around.ledger.finish(
                entry, StepOutcome.DONE, at=clock.now(), observed=_seen(observed)
            )
            self._around.told()
        return After()

    def _mark_differing(
        self, entry: Entry, leave: Licence, planned: Plan, observed: Observed
    ) -> None:
        """Write that the node does not match (any more), and journal it the first time."""
        if isinstance(observed, Unknown) or not entry.converged:
            return
        declaration = entry.declaration
        self._around.ledger.mark(declaration.resource_id, declaration.generation, converged=False)
        if leave is Licence.ORDERED:
            return
        self._note(
            entry,
            "droplet.drifted",
            f"The node differs from generation {declaration.generation}: {_differing(planned)}",
            severity=Severity.WARNING,
        )
        self._around.told()

    def _stand_by(self, entry: Entry) -> After:
        """Leave the decision to the control plane, for as long as it is heard."""
        if entry.absent and entry.reached:
            return After()
        silent = self._around.link_silent()
        return After(max(self._around.repair_after_seconds - silent, 0.0) + 0.05)

    def _act(self, entry: Entry, action: Action) -> After | None:
        around, declaration = self._around, entry.declaration
        try:
            intent = around.intents.begin(declaration, action.code, at=clock.now())
        except Replaced:
            return None
        self._say_doing(entry, action)
        if isinstance(action, RequestStop):
            around.intents.ask_stop(declaration, steady=clock.steady())
        try:
            apply(around.hypervisor, action, stream=around.stream)
        except DriverError as error:
            around.intents.end(intent, f"{error.code}: {error}", at=clock.now())
            return self._stumble(entry, error, doing=action.doing)
        around.intents.end(intent, "done", at=clock.now())
        _log.info("acted", action=action.code, resource=str(declaration.resource_id),
                  generation=str(declaration.generation))  # fmt: skip
        return None

    def _say_doing(self, entry: Entry, action: Action) -> None:
        if entry.steps:
            self.say(entry.declaration.resource_id, f"{action.doing}.")
            return
        text = f"Repairing without an order, as the control plane is not heard: {action.doing}."
        self._note(entry, "droplet.repaired_locally", text)

    def _stumble(self, entry: Entry, error: DriverError, *, doing: str) -> After:
        resource_id = entry.declaration.resource_id
        with self._lock:
            before = self._troubles.get(resource_id)
        chance = random.random()  # noqa: S311  spreads attempts, keeps no secret
        judged = judge(error, before, doing=doing, steady=clock.steady(), chance=chance)
        _log.warning("action_failed", doing=doing, resource=str(resource_id), code=error.code,
                     error=str(error), kind=type(error).__name__)  # fmt: skip
        if isinstance(judged, Hopeless):
            return self._end_hopeless(entry, judged)
        with self._lock:
            self._troubles[resource_id] = judged
        self.say(resource_id, judged.text)
        return After(judged.not_before - clock.steady())

    def _end_hopeless(self, entry: Entry, hopeless: Hopeless) -> After:
        """Refuse the steps; without any, rest long: only the node itself may change."""
        resource_id = entry.declaration.resource_id
        if entry.steps:
            self._refuse(entry, hopeless.code, hopeless.text)
            return After()
        self.say(resource_id, hopeless.text)
        return After(60.0)

    def _refuse(self, entry: Entry, code: str, text: str) -> None:
        resource_id = entry.declaration.resource_id
        with self._lock:
            self._troubles.pop(resource_id, None)
            self._progress.pop(resource_id, None)
        observed = _seen(self._look(entry))
        results = self._around.ledger.finish(
            entry, StepOutcome.REFUSED, at=clock.now(), reason=code, message=text, observed=observed
        )
        if results:
            self._note(entry, "step.refused", f"{code}: {text}", severity=Severity.ERROR)
        self._around.told()

    def _note(
        self, entry: Entry, event: str, text: str, *, severity: Severity = Severity.INFO
    ) -> None:
        self._around.journal.write(
            event,
            text,
            at=clock.now(),
            severity=severity,
            resource_id=entry.declaration.resource_id,
            step_id=entry.steps[-1].step_id if entry.steps else None,
        )


def _is_off(observed: Observed) -> bool:
    on = {GuestPower.RUNNING, GuestPower.PAUSED}
    return isinstance(observed, Present) and observed.droplet.power not in on


def _seen(observed: Observed) -> DropletObservation | None:
    return observed.droplet if isinstance(observed, Present) else None


def _differing(planned: Plan) -> str:
    if planned.problem is not None:
        return planned.problem.text
    if planned.waiting_on is not None:
        return planned.waiting_on.text
    return ", then ".join(action.doing[0].lower() + action.doing[1:] for action in planned.actions)
