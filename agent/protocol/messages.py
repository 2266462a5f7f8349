"""The requests an agent makes and the answers it gets. The agent always dials.

Three exchanges stand on the mutual-TLS listener: `poll` (long, brings work down), `report`
(short, brings evidence up) and `renew`. Two stand on the enrolment listener: `enrol`, and
`recover` for a node whose certificate ran out while it was away.
"""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from agent.protocol.declarations import Declaration
from agent.protocol.observations import DropletObservation, Inventory, NodeFacts
from agent.protocol.values import (
    PROTOCOL_VERSION,
    Generation,
    Incarnation,
    InstallationIdentity,
    WireValue,
)

POLL_PATH = "/v1/poll"
REPORT_PATH = "/v1/report"
RENEW_PATH = "/v1/renew"
IMAGE_PATH = "/v1/images/{sha256}"
CONSOLE_PATH = "/v1/consoles/{session_id}"
ENROL_PATH = "/v1/enrol"
CHALLENGE_PATH = "/v1/recover/challenge"
RECOVER_PATH = "/v1/recover"


class StepOrder(WireValue):
    """One step to carry out: bring the node to this declaration and say how it ended."""

    step_id: UUID
    operation_id: UUID
    declaration: Declaration


class ConsoleOrder(WireValue):
    """Somebody wants the serial console of a droplet: dial CONSOLE_PATH with this session."""

    session_id: UUID
    resource_id: UUID


class StepOutcome(StrEnum):
    """How a step ended on the node. There is no 'failed by time-out': that is not an ending."""

    DONE = "done"
    REFUSED = "refused"


class StepResult(WireValue):
    """The end of one step, kept by the agent until the control plane has said it recorded it.

    `reason` is a permanent code such as `superseded`, `image.checksum`, `rival_installation`;
    `message` is for people.
    """

    step_id: UUID
    resource_id: UUID
    generation: Generation
    outcome: StepOutcome
    reason: str = ""
    message: str = ""
    observed: DropletObservation | None = None
    finished_at: float = 0.0


class StepProgress(WireValue):
    """Where a step stands that has not ended, for people: nothing is concluded from it."""

    step_id: UUID
    text: str = Field(max_length=500)


class LedgerEntry(WireValue):
    """The newest declaration the agent holds for a resource, and whether the node matches it."""

    resource_id: UUID
    generation: Generation
    absent: bool
    converged: bool
    step_id: UUID | None = None


class JournalEntry(WireValue):
    """One line of the agent's own journal. `number` grows by one, so that a gap is seen."""

    number: int = Field(ge=1)
    at: float
    severity: str
    event: str
    message: str
    resource_id: UUID | None = None
    step_id: UUID | None = None


class PollRequest(WireValue):
    """Asks for work and waits for it up to `wait_seconds`.

    `number` grows with every poll of this incarnation (also across agent restarts): the control
    plane serves only the highest it has seen. `delivery` is the highest delivery whose orders
    this agent has written to its ledger; a delivery that a later poll does not name was lost on
    the way.
    """

    protocol: int = PROTOCOL_VERSION
    incarnation: Incarnation
    number: int = Field(ge=1)
    delivery: int = Field(ge=0)
    wait_seconds: float = Field(default=25.0, ge=0, le=55)


class PollResponse(WireValue):
    """Work for the node, under one delivery number. Empty when the wait ended without any.

    `superseded` says that a later poll of the same node was seen; `ledger_wanted` that the
    control plane needs a fresh report with the ledger and a complete inventory, to settle what
    it does not know.
    """

    installation: InstallationIdentity
    delivery: int
    orders: tuple[StepOrder, ...] = ()
    consoles: tuple[ConsoleOrder, ...] = ()
    ledger_wanted: bool = False
    superseded: bool = False


class ReportRequest(WireValue):
    """Evidence, ordered by (incarnation ordinal, sequence). Every part may be left out."""

    protocol: int = PROTOCOL_VERSION
    incarnation: Incarnation
    sequence: int = Field(ge=1)
    delivery: int = Field(ge=0)
    facts: NodeFacts | None = None
    inventory: Inventory | None = None
    ledger: tuple[LedgerEntry, ...] | None = None
    results: tuple[StepResult, ...] = ()
    progress: tuple[StepProgress, ...] = ()
    journal: tuple[JournalEntry, ...] = ()


class ReportResponse(WireValue):
    """What was recorded, so that the agent may forget it.

    `stale` says that a later report had been taken before this one: results and journal were
    recorded, the inventory was not.
    """

    installation: InstallationIdentity
    recorded_steps: tuple[UUID, ...] = ()
    journal_through: int = 0
    stale: bool = False


class EnrolRequest(WireValue):
    """A one-time token and a signing request for a key that never leaves the node."""

    protocol: int = PROTOCOL_VERSION
    token: str = Field(min_length=16, max_length=200)
    csr_pem: str = Field(max_length=10_000)
    facts: NodeFacts | None = None


class EnrolResponse(WireValue):
    """The node's identity. `edge_url` is where poll and report stand."""

    node_id: UUID
    node_name: str
    certificate_pem: str
    ca_pem: str
    installation: InstallationIdentity
    edge_url: str


class RenewRequest(WireValue):
    """A signing request for the next certificate, sent under the present one."""

    csr_pem: str = Field(max_length=10_000)


class RenewResponse(WireValue):
    """The next certificate; the present one ends when the next is first used."""

    certificate_pem: str
    ca_pem: str


class ChallengeResponse(WireValue):
    """A nonce to sign, good once and for a short time."""

    nonce: str


class RecoverRequest(WireValue):
    """The way back for an expired certificate: it, and a signature of the nonce by its key."""

    protocol: int = PROTOCOL_VERSION
    certificate_pem: str = Field(max_length=10_000)
    nonce: str = Field(max_length=200)
    signature_base64: str = Field(max_length=2_000)
    csr_pem: str = Field(max_length=10_000)


class Problem(WireValue):
    """Why a request was turned away: a permanent code and a sentence."""

    code: str
    detail: str
