"""What failures and refusals are taken to mean."""

from __future__ import annotations

from uuid import UUID

import pytest

from agent.drivers.base import OutcomeUnknown, Refused, Rejected
from agent.failures import REFUSALS_BORNE, Hopeless, Trouble, judge
from agent.planning.answers import Verdict, judge_refusal, speaks_of_expiry
from agent.planning.surveying import Held, find_changed, find_suspects
from agent.protocol.observations import GuestPower, Inventory
from tests.agent.declared import WEB, absent, droplet, seen

BEFORE = Trouble(attempts=REFUSALS_BORNE - 1, not_before=0, text="")


def judged(error: Exception, before: Trouble | None = None) -> Trouble | Hopeless:
    return judge(error, before, doing="Starting the guest", steady=100, chance=0)


def test_what_was_rejected_is_not_tried_again() -> None:
    assert judged(Rejected("image.checksum", "no")) == Hopeless("image.checksum", "no")


def test_what_was_refused_is_tried_again_but_not_for_ever() -> None:
    first = judged(Refused("libvirt.internal", "no"))

    assert isinstance(first, Trouble)
    assert first.not_before > 100
    assert isinstance(judged(Refused("libvirt.internal", "no"), BEFORE), Hopeless)


def test_an_unknown_outcome_is_never_hopeless() -> None:
    for attempts in (1, 10, 1000):
        before = Trouble(attempts, 0, "")
        assert isinstance(judged(OutcomeUnknown("lost", "?"), before), Trouble)


@pytest.mark.parametrize(
    ("status", "code", "verdict"),
    [
        (403, "certificate.superseded", Verdict.RELOAD),
        (403, "certificate.expired", Verdict.RECOVER),
        (403, "certificate.revoked", Verdict.BARRED),
        (403, "node.left", Verdict.BARRED),
        (401, "", Verdict.BARRED),
        (400, "protocol.unsupported", Verdict.MISUNDERSTOOD),
        (413, "body.too_large", Verdict.MISUNDERSTOOD),
        (409, "poll.superseded", Verdict.RETRY),
        (503, "unavailable", Verdict.RETRY),
        (500, "", Verdict.RETRY),
    ],
)
def test_a_refusal_says_how_to_go_on(status: int, code: str, verdict: Verdict) -> None:
    assert judge_refusal(status, code) is verdict


def test_a_handshake_says_when_a_certificate_ran_out() -> None:
    assert speaks_of_expiry("[SSL: SSLV3_ALERT_CERTIFICATE_EXPIRED] sslv3 alert")
    assert not speaks_of_expiry("connection refused")


@pytest.mark.parametrize("power", list(GuestPower))
def test_nothing_is_suspected_of_what_an_incomplete_look_left_out(power: GuestPower) -> None:
    held = {WEB: Held(droplet(), settled=True)}

    assert find_suspects(held, Inventory(complete=False)) == frozenset()
    assert find_suspects(held, Inventory(complete=True)) == {WEB}
    looked = Inventory(complete=False, droplets=(seen(droplet(), power),))
    assert find_suspects(held, looked) == (set() if power is GuestPower.RUNNING else {WEB})


def test_what_should_be_absent_is_suspected_when_it_is_there() -> None:
    held = {WEB: Held(absent(), settled=True)}

    assert find_suspects(held, Inventory(complete=True)) == frozenset()
    assert find_suspects(held, Inventory(complete=True, droplets=(seen(droplet()),))) == {WEB}


def test_a_change_is_what_came_went_or_looks_other() -> None:
    other = UUID(int=2)
    before = {WEB: seen(droplet()), other: seen(droplet(resource_id=other))}
    stopped = seen(droplet(), GuestPower.STOPPED)

    assert find_changed(Inventory(complete=True, droplets=(stopped,)), before) == {WEB, other}
    assert find_changed(Inventory(complete=False, droplets=(stopped,)), before) == {WEB}
    assert find_changed(Inventory(complete=True, droplets=tuple(before.values())), before) == set()
