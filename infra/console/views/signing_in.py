"""Signing in and out. Every try is in the audit journal."""

from __future__ import annotations

from django.contrib.auth import logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from infra.console.attempts import WINDOW_SECONDS, count_failure, forget_failures, too_many
from infra.console.doors import request_id
from inventory.access import Actor
from operations.audit import record_audit
from operations.intents.call import Call

MAX_LABEL = 100


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def _record(request: HttpRequest, action: str, name: str, user_id: int | None) -> None:
    shown = name.replace("\x00", "")[:MAX_LABEL]
    actor = Actor(user_id=user_id, label=shown)
    call = Call(actor=actor, now=timezone.now(), request_id=request_id(), reason=_address(request))
    record_audit(call, action, kind="user", object_id=None, name=shown)


class SignInForm(AuthenticationForm):
    """Django's form, asked only while there were not too many failures."""

    error_messages = {
        "invalid_login": "Name or password is wrong. Capital letters count in both.",
        "inactive": "This account is switched off. An administrator can switch it on.",
    }

    def clean(self) -> dict[str, object]:
        name = str(self.cleaned_data.get("username", ""))
        address = _address(self.request) if self.request else ""
        if too_many(name, address):
            minutes = WINDOW_SECONDS // 60
            self.add_error(None, f"Too many failures. Wait {minutes} minutes, then try again.")
            return self.cleaned_data
        return super().clean()


class SignIn(LoginView):
    """The sign-in page."""

    template_name = "console/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        forget_failures(user.get_username(), _address(self.request))
        _record(self.request, "sign_in", user.get_username(), user.pk)
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        name = str(form.data.get("username", ""))
        if not too_many(name, _address(self.request)):
            count_failure(name, _address(self.request))
        _record(self.request, "sign_in_refused", name, None)
        response = super().form_invalid(form)
        response.status_code = 401
        return response


def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """Lead to the one sign-in page; whoever is signed in but not staff is told so."""
    if request.user.is_authenticated:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next", "/admin/"))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect("console:sign-in")
