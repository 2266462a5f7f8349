"""Where work may stand: filters, weights and their reasons. Pure."""
