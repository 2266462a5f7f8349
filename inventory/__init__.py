"""What exists and what is wanted: nodes, zones, resources, and the records about them."""
