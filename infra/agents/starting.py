"""The agent edge put together from the settings of the installation."""

from __future__ import annotations

from django.conf import settings
from django.utils import timezone

from infra.agents.consoles import ConsoleRelay
from infra.agents.enrolling import Enrolling
from infra.agents.exchange import Exchange
from infra.agents.server import Edge, edge_url, listen, stop_on_signals
from infra.agents.waking import NodeWakes
from infra.authority import load_authority
from infra.database_threads import DatabaseThreads
from infra.relay import Relay
from operations.dispatch import take_poll
from operations.observations import take_report

DATABASE_THREADS = 10


async def serve() -> None:
    """Run the edge until it is told to stop. Raises OSError when it cannot listen or sign."""
    environment = settings.ENVIRONMENT
    authority = load_authority(environment.authority)
    authority.ensure_server_certificate(environment.edge_address, now=timezone.now())
    threads = DatabaseThreads(DATABASE_THREADS)
    wakes = NodeWakes()
    relay = Relay(environment.redis())
    exchange = Exchange(
        authority=authority,
        threads=threads,
        wakes=wakes,
        consoles=ConsoleRelay(relay, threads, wakes),
        take_poll=take_poll,
        take_report=take_report,
    )
    enrolling = Enrolling(
        authority, threads, edge_url(environment.edge_address, environment.edge_port)
    )
    edge = Edge(
        exchange,
        enrolling,
        sockets=(
            listen(environment.edge_bind, environment.edge_port),
            listen(environment.edge_bind, environment.enrol_port),
        ),
        dialled_as=environment.edge_address,
    )
    stop_on_signals(edge)
    try:
        await edge.run()
    finally:
        await relay.close()
