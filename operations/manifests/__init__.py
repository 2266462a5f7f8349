"""Manifests: many declarations at once, planned here and applied in one transaction."""
