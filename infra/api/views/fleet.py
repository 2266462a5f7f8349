"""Zones, nodes, and what is found on nodes."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from http import HTTPStatus

from django.conf import settings
from django.db.models import Q
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from infra.api.answers import Answer
from infra.api.described import described
from infra.api.endpoint import Endpoint
from infra.api.paging import (
    BY_NAME,
    label_filter,
    list_page,
    read_wanted,
    text_filter,
    zone_filter,
)
from infra.api.shapes.base import Listing
from infra.api.shapes.droplets import EmptyBody
from infra.api.shapes.fleet import (
    FoundShape,
    NewNode,
    NewZone,
    NodeDetailShape,
    NodePatch,
    NodeShape,
    NodeTokenShape,
    RevocationBody,
    RevokedShape,
    ZonePatch,
    ZoneShape,
    show_found,
    show_node,
    show_node_detail,
    show_zone,
)
from infra.api.shapes.resources import Deletion
from infra.api.views.resources import confirmed_name
from infra.authority import ensure_authority
from infra.joining import join_command
from inventory.access import Actor, access_node, access_zone, as_uuid, visible_found
from inventory.errors import NotFound
from inventory.lifecycles import NodeEvent
from inventory.models import FoundObject, Node, Zone
from inventory.reads.nodes import NodeFilter, filter_nodes
from operations.enrolment import TOKEN_LIFE, create_enrolment_token
from operations.intents.call import Call
from operations.intents.nodes import change_node, create_node, move_lifecycle, revoke_certificates
from operations.intents.zones import change_zone, create_zone, delete_zone

ZONE_FILTERS = ("label", "q")
NODE_FILTERS = ("zone", "label", "q", "lifecycle", "condition")
FOUND_FILTERS = ("zone", "node", "q")
CERTIFICATES_SHOWN = 5


class ZoneListing(Listing[ZoneShape]):
    """A page of zones."""


class NodeListing(Listing[NodeShape]):
    """A page of nodes."""


class FoundListing(Listing[FoundShape]):
    """A page of guests that were not declared here."""


class Zones(Endpoint):
    """Zones."""

    @described(ZoneListing, filters=ZONE_FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List zones."""
        del request
        wanted = read_wanted(self.http, BY_NAME, filters=ZONE_FILTERS)
        rows = Zone.objects.select_related("parent").filter(
            text_filter(self.http), label_filter(self.http)
        )
        page = list_page(rows, wanted, ZoneListing, lambda found: [*map(show_zone, found)])
        return self.read(Answer(page))

    @described(ZoneShape, body=NewZone, status=201)
    def post(self, request: Request) -> HttpResponseBase:
        """Draw a zone."""
        del request
        new = self.body(NewZone)

        def act(call: Call) -> Answer:
            return made_zone(
                create_zone(
                    call,
                    name=new.name,
                    parent=new.parent,
                    kind_label=new.kind_label,
                    jurisdiction=new.jurisdiction,
                    labels=new.labels,
                )
            )

        return self.write(act)


def made_zone(zone: Zone) -> Answer:
    """Return the answer to a zone that was made."""
    return Answer(
        show_zone(zone),
        HTTPStatus.CREATED,
        revision=zone.revision,
        headers={"Location": f"/api/v1/zones/{zone.pk}"},
    )


class ZoneDetail(Endpoint):
    """One zone."""

    @described(ZoneShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show a zone."""
        del request
        zone = access_zone(self.actor, key)
        return self.read(Answer(show_zone(zone), revision=zone.revision))

    @described(ZoneShape, body=ZonePatch)
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Change a zone, or put it into another one."""
        del request
        patch = self.body(ZonePatch)

        def act(call: Call) -> Answer:
            zone = change_zone(
                call,
                key,
                name=patch.name,
                parent=patch.parent,
                to_root="parent" in patch.model_fields_set and patch.parent is None,
                kind_label=patch.kind_label,
                jurisdiction=patch.jurisdiction,
                labels=patch.labels,
            )
            return Answer(show_zone(zone), revision=zone.revision)

        return self.write(act)

    @described(None, body=Deletion, status=204)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Delete an empty zone."""
        del request
        name = confirmed_name(self)

        def act(call: Call) -> Answer:
            delete_zone(call, key, confirm_name=name)
            return Answer(None, HTTPStatus.NO_CONTENT)

        return self.write(act)


def node_answer(node: Node) -> Answer:
    """Return a node in full."""
    found = (
        Node.objects.select_related("zone", "link").prefetch_related("conditions").get(pk=node.pk)
    )
    certificates = list(node.certificates.order_by("-issued_at")[:CERTIFICATES_SHOWN])
    return Answer(show_node_detail(found, certificates), revision=found.revision)


class Nodes(Endpoint):
    """Nodes."""

    @described(NodeListing, filters=NODE_FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List nodes; those that left only when asked for by `lifecycle=left`."""
        del request
        http = self.http
        wanted = read_wanted(http, BY_NAME, filters=NODE_FILTERS)
        fits = NodeFilter(
            text=http.GET.get("q", ""),
            zone_ids=zone_filter(http, self.actor),
            lifecycle=http.GET.get("lifecycle", ""),
            condition=http.GET.get("condition", ""),
        )
        rows = filter_nodes(fits).filter(label_filter(http))
        page = list_page(rows, wanted, NodeListing, lambda found: [*map(show_node, found)])
        return self.read(Answer(page))

    @described(NodeDetailShape, body=NewNode, status=201)
    def post(self, request: Request) -> HttpResponseBase:
        """Declare a node; a token then lets one machine become it."""
        del request
        new = self.body(NewNode)

        def act(call: Call) -> Answer:
            node = create_node(
                call, name=new.name, zone=new.zone, labels=new.labels, over_commit=new.over_commit
            )
            made = node_answer(node)
            location = {"Location": f"/api/v1/nodes/{node.pk}"}
            return Answer(made.document, HTTPStatus.CREATED, made.revision, headers=location)

        return self.write(act)


class NodeDetail(Endpoint):
    """One node."""

    @described(NodeDetailShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show a node."""
        del request
        return self.read(node_answer(access_node(self.actor, key)))

    @described(NodeDetailShape, body=NodePatch)
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Change name, zone, labels or over-commit of a node."""
        del request
        patch = self.body(NodePatch)
        over_commit: Mapping[str, Decimal] | None = patch.over_commit
        return self.write(
            lambda call: node_answer(
                change_node(
                    call,
                    key,
                    name=patch.name,
                    zone=patch.zone,
                    labels=patch.labels,
                    over_commit=over_commit,
                )
            )
        )


class NodeMove(Endpoint):
    """A move in a node's life."""

    event: NodeEvent

    def move(self, key: str) -> HttpResponseBase:
        """Write the event."""
        self.body(EmptyBody)
        return self.write(lambda call: node_answer(move_lifecycle(call, key, self.event)))


class NodeDrain(NodeMove):
    """Draining."""

    event = NodeEvent.DRAIN

    @described(NodeDetailShape, body=EmptyBody)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Place nothing new on a node; it is drained when nothing is left on it."""
        del request
        return self.move(key)


class NodeResume(NodeMove):
    """Resuming."""

    event = NodeEvent.RESUME

    @described(NodeDetailShape, body=EmptyBody)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Place new work on a node again."""
        del request
        return self.move(key)


class NodeLeave(NodeMove):
    """Leaving."""

    event = NodeEvent.LEAVE

    @described(NodeDetailShape, body=EmptyBody)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Let a drained node go for good; its certificates end."""
        del request
        return self.move(key)


class NodeToken(Endpoint):
    """Letting a machine in."""

    @described(NodeTokenShape, body=EmptyBody, status=201)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Make a one-time token that lets one machine become the node; earlier ones end."""
        del request
        self.body(EmptyBody)

        def act(call: Call) -> Answer:
            node = access_node(call.actor, key)
            token = create_enrolment_token(node, call)
            return Answer(node_token(token, call), HTTPStatus.CREATED, secret=True)

        return self.write(act)


def node_token(token: str, call: Call) -> NodeTokenShape:
    """Return the token with all that a machine needs to use it."""
    environment = settings.ENVIRONMENT
    url = f"https://{environment.edge_address}:{environment.enrol_port}"
    return NodeTokenShape(
        token=token,
        url=url,
        authority=ensure_authority(environment.authority, now=call.now).pem,
        command=join_command(token),
        expires_at=call.now + TOKEN_LIFE,
    )


class NodeCertificates(Endpoint):
    """A node's certificates."""

    @described(RevokedShape, body=RevocationBody)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Revoke all certificates and tokens of a node; its guests run on."""
        del request
        because = self.body(RevocationBody).because
        return self.write(
            lambda call: Answer(RevokedShape(revoked=revoke_certificates(call, key, because)))
        )


class Found(Endpoint):
    """Guests that this inventory did not declare."""

    @described(FoundListing, filters=FOUND_FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List guests found on nodes that nobody declared here."""
        del request
        http = self.http
        wanted = read_wanted(http, BY_NAME, filters=FOUND_FILTERS)
        rows = visible_found(self.actor).filter(text_filter(http))
        zones, node = zone_filter(http, self.actor), http.GET.get("node", "")
        if zones is not None:
            rows = rows.filter(node__zone_id__in=zones)
        if node:
            rows = rows.filter(node=access_node(self.actor, node))
        page = list_page(rows, wanted, FoundListing, lambda found: [*map(show_found, found)])
        return self.read(Answer(page))


class FoundDetail(Endpoint):
    """One such guest."""

    @described(FoundShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show a guest found on a node."""
        del request
        found = find_found(self.actor, key)
        if found is None:
            raise NotFound("found object", key)
        return self.read(Answer(show_found(found)))


def find_found(actor: Actor, key: str) -> FoundObject | None:
    """Return the guest by our id, or by the name or id its node gives it."""
    rows = visible_found(actor)
    identifier = as_uuid(key)
    if identifier is not None:
        return rows.filter(Q(pk=identifier) | Q(native_id=str(identifier))).first()
    return rows.filter(Q(name=key) | Q(native_id=key)).first()
