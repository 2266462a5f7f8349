"""The shared fixtures are true: what they say was made, was made by the product."""

from operations.models import Operation


def test_a_droplet_of_the_factory_really_reached_its_node(droplet_factory, node_factory, zone):
    node = node_factory("n1")
    droplet = droplet_factory("hello", on=node)
    assert Operation.objects.get(resource=droplet).state == "succeeded"
    assert droplet.placements.get().node_id == node.node_id
