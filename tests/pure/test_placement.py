"""Filters, weights and placement, on values alone."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from inventory.capacity import Amount
from operations.scheduling.filters import refuse
from operations.scheduling.placement import TRIES, place
from operations.scheduling.values import (
    NodeFacts,
    NoRoom,
    Placed,
    PlacementRequest,
    Reason,
    Rule,
)

RACK, ROOM, OTHER = UUID(int=101), UUID(int=102), UUID(int=103)
WEB = frozenset({("app", "web")})


def node(number=1, **changes):
    facts = {
        "id": UUID(int=number),
        "name": f"n{number}",
        "zone_path": (RACK, ROOM),
        "placeable": True,
        "reachable": True,
        "compute": True,
        "room": Amount(8, 8192, 100),
        "capacity": Amount(8, 8192, 100),
    }
    return NodeFacts(**(facts | changes))


def request(**changes):
    return PlacementRequest(**({"amount": Amount(2, 1024, 10)} | changes))


def test_each_obstacle_has_its_reason():
    cases = {
        Reason.LIFECYCLE: node(placeable=False),
        Reason.UNREACHABLE: node(reachable=False),
        Reason.NOT_TOLD: node(compute=None),
        Reason.NO_COMPUTE: node(compute=False),
        Reason.VCPUS: node(room=Amount(1, 8192, 100)),
        Reason.MEMORY: node(room=Amount(8, 512, 100)),
        Reason.DISK: node(room=Amount(8, 8192, 5)),
    }
    assert {refuse(request(), facts) for facts in cases.values()} == set(cases)
    for reason, facts in cases.items():
        assert refuse(request(), facts) == reason


def test_a_zone_holds_what_stands_in_the_zones_inside_it():
    assert refuse(request(zone_id=ROOM), node()) is None
    assert refuse(request(zone_id=OTHER), node()) == Reason.ZONE


def test_one_guest_never_gets_more_vcpus_than_its_node_has():
    roomy = node(room=Amount(32, 8192, 100))
    assert refuse(request(amount=Amount(9, 1, 1)), roomy) == Reason.VCPUS


def test_apart_refuses_a_node_with_a_neighbour_and_together_one_without():
    apart = request(rules=(Rule(together=False, by_zone=False, labels=WEB),))
    together = request(rules=(Rule(together=True, by_zone=False, labels=WEB),))
    beside = node(neighbours=(WEB | {("tier", "front")},))
    assert refuse(apart, beside) == Reason.ANTI_AFFINITY
    assert refuse(apart, node()) is None
    assert refuse(together, beside) is None
    assert refuse(together, node()) == Reason.AFFINITY


def test_no_room_counts_the_first_reason_of_every_node():
    answer = place(
        request(),
        [node(1, compute=False), node(2, room=Amount(8, 1, 100)), node(3, room=Amount(8, 2, 100))],
    )
    assert answer == NoRoom({Reason.NO_COMPUTE: 1, Reason.MEMORY: 2}, 3)
    assert "2 too little memory left" in str(answer)


def test_no_node_at_all_is_said_plainly():
    assert "no node yet" in str(place(request(), []))


amounts = st.builds(Amount, st.integers(0, 64), st.integers(0, 65536), st.integers(0, 1000))
nodes = st.lists(
    st.builds(
        node,
        st.integers(1, 10**6),
        room=amounts,
        capacity=amounts,
        placeable=st.booleans(),
        reachable=st.booleans(),
        compute=st.booleans(),
    ),
    max_size=20,
    unique_by=lambda facts: facts.id,
)


@given(nodes, amounts, st.integers(0, 2**128))
def test_what_is_placed_fits_and_equal_inputs_give_equal_answers(fleet, amount, turn):
    wanted = PlacementRequest(amount)
    answer = place(wanted, fleet, turn=turn)
    assert answer == place(wanted, fleet, turn=turn)
    if isinstance(answer, Placed):
        chosen = {facts.id: facts for facts in fleet}
        for node_id in (answer.node_id, *answer.others):
            assert chosen[node_id].placeable
            assert amount.fits(chosen[node_id].room)
        assert 1 + len(answer.others) <= TRIES
    else:
        assert sum(answer.refused.values()) == len(fleet)
