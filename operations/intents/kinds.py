"""The registration of each kind: its spec and its three intents. A new kind adds one line.

Whoever takes any kind (manifests, the admin, the API's `resources`) looks here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from inventory.models import Kind
from inventory.specs import DropletSpec, ImageSpec, Spec, SshKeySpec
from inventory.specs.base import parse_spec
from operations.intents import droplets, images, sshkeys
from operations.intents.call import Call
from operations.intents.resources import Key, Metadata
from operations.models import Operation


@dataclass(frozen=True)
class KindIntents:
    """How a kind is created, changed as a whole, and deleted.

    `create(call, metadata, document)`, `change(call, key, document, metadata)` and
    `delete(call, key, confirm_name)` raise what the kind's own intents raise.
    """

    spec: type[Spec]
    create: Callable[..., Operation]
    change: Callable[..., Operation]
    delete: Callable[..., Operation]

    def declare(
        self, call: Call, metadata: Metadata, document: object, **more: object
    ) -> Operation:
        """Create a resource from a document. Raises Invalid with pointers."""
        return self.create(call, metadata, parse_spec(self.spec, document), **more)

    def redeclare(
        self, call: Call, key: Key, metadata: Metadata, document: object, **more: object
    ) -> Operation:
        """Declare the whole document anew. Raises Invalid with pointers."""
        return self.change(
            call,
            key,
            spec=parse_spec(self.spec, document),
            labels=metadata.labels,
            protected=metadata.protected,
            **more,
        )


KINDS: Mapping[Kind, KindIntents] = MappingProxyType(
    {
        Kind.DROPLET: KindIntents(
            DropletSpec,
            droplets.create_droplet,
            droplets.change_droplet,
            droplets.delete_droplet,
        ),
        Kind.IMAGE: KindIntents(
            ImageSpec, images.create_image, images.change_image, images.delete_image
        ),
        Kind.SSH_KEY: KindIntents(
            SshKeySpec, sshkeys.create_ssh_key, sshkeys.change_ssh_key, sshkeys.delete_ssh_key
        ),
    }
)
