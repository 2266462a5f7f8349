"""Every page of the console, for a world."""

from __future__ import annotations

from tests.console.world import World

LISTS = (
    "/",
    "/zones/",
    "/nodes/",
    "/droplets/",
    "/images/",
    "/keys/",
    "/operations/",
    "/found/",
)
FORMS = (
    "/zones/new/",
    "/zones/home/edit/",
    "/nodes/new/",
    "/nodes/n1/edit/",
    "/droplets/new/",
    "/images/new/",
    "/keys/new/",
)
FRAGMENTS = ("/console/tray", "/console/palette?q=n", "/search/?q=n")


def details(world: World) -> dict[str, str]:
    """Return a name and an address for the page of every object."""
    pages = {
        "zone europe": "/zones/europe/",
        "zone home": "/zones/home/",
        "node ready": "/nodes/n1/",
        "node unreachable": "/nodes/n2/",
        "node joining": "/nodes/n3/",
    }
    for name, droplet in world.droplets.items():
        pages[f"droplet {name}"] = f"/droplets/{droplet.pk}/"
    for name, operation in world.operations.items():
        pages[f"operation {name}"] = f"/operations/{operation.public_id}/"
    spec = world.droplets["running"].droplet
    pages["image"] = f"/images/{spec.image_id}/"
    pages["key"] = f"/keys/{spec.ssh_keys.get().pk}/"
    pages["terminal"] = f"/droplets/{world.droplets['running'].pk}/terminal/"
    return pages


def samples(world: World) -> list[str]:
    """Return one page for each way a page can look, for checks that take a second each."""
    pages = details(world)
    names = [
        "zone europe",
        "node ready",
        "node unreachable",
        "node joining",
        "droplet running",
        "droplet waiting",
        "droplet silent",
        "droplet gone",
        "operation running",
        "operation waiting",
        "operation lost",
        "operation refused",
        "operation cancelled",
        "image",
        "key",
        "terminal",
    ]
    return [pages[name] for name in names]
