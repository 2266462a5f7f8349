"""Owners, tokens, signing in for a token, who one is, the version, and the audit journal."""

from __future__ import annotations

from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version

from django.contrib.auth import authenticate
from django.db.models import Q
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

from infra.api.answers import Answer, to_http
from infra.api.described import described
from infra.api.endpoint import Endpoint
from infra.api.errors import RequestRefused
from infra.api.paging import BY_AGE, BY_NAME, list_page, read_wanted, text_filter
from infra.api.requests import request_id
from infra.api.shapes.base import Listing
from infra.api.shapes.people import (
    AuditShape,
    LoginBody,
    MeShape,
    NewOwner,
    NewToken,
    NewTokenShape,
    OwnerShape,
    TokenShape,
    VersionShape,
    show_audit,
    show_new_token,
    show_owner,
    show_token,
)
from infra.api.shapes.resources import Deletion
from infra.api.throttling import FailureThrottle
from infra.api.tokens import access_token, make_token, revoke_token, tokens_of
from inventory.access import (
    Actor,
    access_owner,
    actor_for,
    as_uuid,
    check_may_administer,
    visible_owners,
)
from inventory.errors import invalid
from inventory.identifiers import uuid7
from inventory.models import AuditEvent, User
from operations.audit import record_audit
from operations.intents.call import Call
from operations.intents.owners import create_owner, rename_owner

AUDIT_FILTERS = ("object", "actor", "action")
LOGIN_FAILURES = FailureThrottle(failures=10, seconds=300.0)
"""Passwords can be guessed, tokens cannot: ten wrong ones from an address, then silence."""

NAME_FAILURES = FailureThrottle(failures=100, seconds=300.0)
"""Guessing one name from many addresses; so many more, that nobody is locked out for fun."""


NOBODY = Actor(user_id=None, label="nobody")
"""Who tried to sign in as somebody that there is not."""


class OwnerListing(Listing[OwnerShape]):
    """A page of owners."""


class TokenListing(Listing[TokenShape]):
    """A page of tokens."""


class AuditListing(Listing[AuditShape]):
    """A page of the audit journal."""


class Owners(Endpoint):
    """Owners."""

    @described(OwnerListing, filters=("q",), orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List the owners one may act for."""
        del request
        wanted = read_wanted(self.http, BY_NAME, filters=("q",))
        rows = visible_owners(self.actor).filter(text_filter(self.http))
        page = list_page(rows, wanted, OwnerListing, lambda found: [*map(show_owner, found)])
        return self.read(Answer(page))

    @described(OwnerShape, body=NewOwner, status=201)
    def post(self, request: Request) -> HttpResponseBase:
        """Make an owner."""
        del request
        name = self.body(NewOwner).name

        def act(call: Call) -> Answer:
            owner = create_owner(call, name=name)
            location = {"Location": f"/api/v1/owners/{owner.pk}"}
            return Answer(show_owner(owner), HTTPStatus.CREATED, headers=location)

        return self.write(act)


class OwnerDetail(Endpoint):
    """One owner."""

    @described(OwnerShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show an owner."""
        del request
        return self.read(Answer(show_owner(access_owner(self.actor, key))))

    @described(OwnerShape, body=NewOwner)
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Give an owner another name."""
        del request
        name = self.body(NewOwner).name
        if self.http.headers.get("If-Match", "*") != "*":
            raise invalid("", "if_match", "Owners have no revision to compare; leave If-Match out.")
        return self.write(lambda call: Answer(show_owner(rename_owner(call, key, name))))


class Tokens(Endpoint):
    """One's own tokens."""

    @described(TokenListing, orders=BY_AGE)
    def get(self, request: Request) -> HttpResponseBase:
        """List one's own tokens, without their secrets."""
        del request
        wanted = read_wanted(self.http, BY_AGE)
        rows = tokens_of(self.actor)
        page = list_page(rows, wanted, TokenListing, lambda found: [*map(show_token, found)])
        return self.read(Answer(page))

    @described(NewTokenShape, body=NewToken, status=201)
    def post(self, request: Request) -> HttpResponseBase:
        """Make a token for oneself; its secret is shown only now."""
        del request
        new = self.body(NewToken)

        def act(call: Call) -> Answer:
            token, text = make_token(
                call, self.user, name=new.name, scope=new.scope, expires_at=new.expires_at
            )
            return Answer(show_new_token(token, text), HTTPStatus.CREATED, secret=True)

        return self.write(act)


class TokenDetail(Endpoint):
    """One of one's own tokens."""

    @described(TokenShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show a token of one's own, without its secret."""
        del request
        return self.read(Answer(show_token(access_token(self.actor, key))))

    @described(None, body=Deletion, status=204)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Revoke a token; it is refused from the next request on."""
        del request
        self.body(Deletion)

        def act(call: Call) -> Answer:
            revoke_token(call, key)
            return Answer(None, HTTPStatus.NO_CONTENT)

        return self.write(act)


class Login(Endpoint):
    """Name and password for a token."""

    authentication_classes = []
    permission_classes = []

    @described(NewTokenShape, body=LoginBody, status=201, public=True)
    def post(self, request: Request) -> HttpResponseBase:
        """Sign in with name and password, and get a token of one's own."""
        del request
        body = self.body(LoginBody)
        user = self._authenticate(body)
        call = Call(actor=actor_for(user), now=timezone.now(), request_id=request_id())
        name = body.token_name or f"login {call.now:%Y-%m-%d %H:%M:%S} {uuid7().hex[-6:]}"
        token, text = make_token(call, user, name=name)
        answer = Answer(show_new_token(token, text), HTTPStatus.CREATED, secret=True)
        return to_http(answer, self.http)

    def _authenticate(self, body: LoginBody) -> User:
        address = str(self.http.META.get("REMOTE_ADDR", ""))
        wait = max(LOGIN_FAILURES.wait(address), NAME_FAILURES.wait(body.username))
        if wait > 0:
            raise Throttled(wait=wait)
        user = authenticate(self.http, username=body.username, password=body.password)
        if not isinstance(user, User):
            LOGIN_FAILURES.fail(address)
            NAME_FAILURES.fail(body.username)
            self._record_failure(body.username)
            raise RequestRefused(
                HTTPStatus.UNAUTHORIZED, "login.failed", "Name or password is wrong."
            )
        return user

    def _record_failure(self, username: str) -> None:
        user = User.objects.filter(username=username).first()
        call = Call(
            actor=actor_for(user) if user else NOBODY, now=timezone.now(), request_id=request_id()
        )
        record_audit(call, "login.failed", kind="user", object_id=None, name=username[:100])


class Me(Endpoint):
    """Oneself."""

    @described(MeShape)
    def get(self, request: Request) -> HttpResponseBase:
        """Show who the request comes from, and what that person may do."""
        del request
        actor = self.actor
        me = MeShape(
            username=actor.label,
            administrator=actor.administrator,
            read_only=actor.read_only,
            roles={str(owner): role for owner, role in actor.roles.items()},
        )
        return self.read(Answer(me))


class Version(Endpoint):
    """The version."""

    authentication_classes = []
    permission_classes = []

    @described(VersionShape, public=True)
    def get(self, request: Request) -> HttpResponseBase:
        """Show what this installation runs."""
        del request
        return self.read(Answer(VersionShape(name="infra", version=own_version(), api="v1")))


def own_version() -> str:
    """Return the version of the product that is installed."""
    try:
        return version("infra")
    except PackageNotFoundError:
        return "unpackaged"


class Audit(Endpoint):
    """The audit journal."""

    @described(AuditListing, filters=AUDIT_FILTERS, orders=BY_AGE)
    def get(self, request: Request) -> HttpResponseBase:
        """List who did what to which object, newest first. For administrators."""
        del request
        check_may_administer(self.actor, "read", "the audit journal")
        http = self.http
        wanted = read_wanted(http, BY_AGE, filters=AUDIT_FILTERS)
        rows = AuditEvent.objects.filter(_audit_filter(http.GET.get("object", "")))
        for name, column in (("actor", "actor_label"), ("action", "action")):
            if http.GET.get(name):
                rows = rows.filter(**{column: http.GET[name]})
        page = list_page(rows, wanted, AuditListing, lambda found: [*map(show_audit, found)])
        return self.read(Answer(page))


def _audit_filter(key: str) -> Q:
    identifier = as_uuid(key) if key else None
    if key and identifier is None:
        raise invalid("/object", "id", "An object is named by its id here.")
    return Q(object_id=identifier) if identifier else Q()
