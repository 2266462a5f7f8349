"""API tokens: a prefix to find them by, a digest to compare, scopes, an expiry, a last use."""

from rest_framework.authentication import BaseAuthentication


class TokenAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer infra_<prefix>_<secret>`."""
