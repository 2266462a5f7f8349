"""Where everything stands."""

from django.contrib import admin
from django.urls import include, path

from infra.console.views.signing_in import admin_sign_in
from infra.health import alive, health

urlpatterns = [
    path("healthz", alive),
    path("readyz", health),
    path("api/v1/", include("infra.api.urls")),
    path("admin/login/", admin_sign_in),
    path("admin/", admin.site.urls),
    path("", include("infra.console.urls")),
]

handler400 = "infra.console.views.errors.bad_request"
handler403 = "infra.console.views.errors.forbidden"
handler404 = "infra.console.views.errors.not_found"
handler500 = "infra.console.views.errors.broken"
