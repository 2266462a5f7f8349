"""API tokens: a prefix to find them by, a digest to compare, a scope, an expiry, a last use."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request

from infra.api.models import ApiToken
from infra.api.throttling import TOKEN_FAILURES
from infra.api.tokens import find_token, touch
from inventory.access import Actor, actor_for
from inventory.models import User

SCHEME = "bearer"


class TokenAuthentication(BaseAuthentication):
    """Reads `Authorization: Bearer infra_<prefix>_<secret>`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return who the token stands for; None without one. Raises AuthenticationFailed."""
        scheme, _, text = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        address = str(request.META.get("REMOTE_ADDR", ""))
        if address and (wait := TOKEN_FAILURES.wait(address)) > 0:
            raise Throttled(wait=wait)
        now = timezone.now()
        token = find_token(text.strip(), now=now)
        if token is None:
            if address:
                TOKEN_FAILURES.fail(address)
            raise AuthenticationFailed("The API token is unknown, has expired or was revoked.")
        touch(token, now=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        del request
        return 'Bearer realm="infra"'


def actor_behind(user: object, auth: object) -> Actor | None:
    """Return the actor of an authenticated request: a token may narrow its person's rights."""
    if not isinstance(user, User) or not user.is_active:
        return None
    narrowed = isinstance(auth, ApiToken) and auth.scope == ApiToken.Scope.READ
    return actor_for(user, read_only=narrowed)
