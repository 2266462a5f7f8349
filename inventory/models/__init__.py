"""Rows of the inventory, one module per noun."""

from inventory.models.audit import AuditEvent
from inventory.models.dependencies import Dependency, Relation
from inventory.models.droplets import Droplet
from inventory.models.events import Event
from inventory.models.identity import EnrolmentToken, NodeCertificate
from inventory.models.images import Image
from inventory.models.installation import Installation
from inventory.models.nodes import Node, NodeCondition, NodeJournal, NodeLink
from inventory.models.observations import FoundObject, ResourceObservation
from inventory.models.owners import Membership, Owner, Role
from inventory.models.people import User
from inventory.models.placement import Placement
from inventory.models.resources import Kind, Resource
from inventory.models.sshkeys import SshKey
from inventory.models.zones import Zone

__all__ = [
    "AuditEvent",
    "Dependency",
    "Droplet",
    "EnrolmentToken",
    "Event",
    "FoundObject",
    "Image",
    "Installation",
    "Kind",
    "Membership",
    "Node",
    "NodeCertificate",
    "NodeCondition",
    "NodeJournal",
    "NodeLink",
    "Owner",
    "Placement",
    "Relation",
    "Resource",
    "ResourceObservation",
    "Role",
    "SshKey",
    "User",
    "Zone",
]
