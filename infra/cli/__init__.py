"""The `infra` command: a client of the API and of nothing else. It never imports Django."""
