"""The admin edits facts (zones, nodes' declared side, owners) and declares resources by intent.

What the fleet reports and what operations did is shown, never edited. Every save runs the same
intent as the API: first as a dry run, so that its refusals stand beside the fields, then for real.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.db import models
from django.http import HttpRequest
from django.utils import timezone

from inventory.access import actor_for
from inventory.errors import InfraError, Invalid
from inventory.models import (
    AuditEvent,
    EnrolmentToken,
    FoundObject,
    Kind,
    Membership,
    Node,
    NodeCertificate,
    NodeCondition,
    Owner,
    Placement,
    Resource,
    ResourceObservation,
    User,
    Zone,
)
from operations.intents import nodes, owners, zones
from operations.intents.call import Call
from operations.intents.kinds import KINDS
from operations.intents.resources import Metadata
from operations.models import Journal, Operation, Step

if TYPE_CHECKING:
    from typing import TypeAlias

    AnyForm: TypeAlias = forms.ModelForm[models.Model]
    AnyAdmin: TypeAlias = admin.ModelAdmin[models.Model]
else:
    AnyForm, AnyAdmin = forms.ModelForm, admin.ModelAdmin


class IntentForm(AnyForm):
    """A form whose rules are those of the intent that saving runs."""

    admin_user: User
    intent_admin: IntentAdmin

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # Django's hook, not in its stubs
        if self.errors:
            return
        try:
            self.intent_admin.carry_out(self.call(dry_run=True), self)
        except Invalid as error:
            for item in error.errors:
                name = item.pointer.strip("/").split("/")[0]
                self.add_error(name if name in self.fields else None, item.message)
        except InfraError as error:
            self.add_error(None, str(error))

    def call(self, *, dry_run: bool) -> Call:
        return Call(
            actor=actor_for(self.admin_user), now=timezone.now(), dry_run=dry_run, reason="admin"
        )

    @property
    def adding(self) -> bool:
        return self.instance._state.adding  # noqa: SLF001  Django's own word


class IntentAdmin(AnyAdmin):
    """An admin that saves through an intent and never touches the row itself."""

    form = IntentForm

    def get_form(
        self,
        request: HttpRequest,
        obj: models.Model | None = None,
        change: bool = False,  # noqa: FBT001, FBT002  Django's signature
        **kwargs: object,
    ) -> type[AnyForm]:
        base = super().get_form(request, obj, change=change, **kwargs)
        bound = {"admin_user": cast("User", request.user), "intent_admin": self}
        return cast("type[AnyForm]", type(base.__name__, (base,), bound))

    def save_model(
        self,
        request: HttpRequest,
        obj: models.Model,
        form: AnyForm,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        del change
        intent_form = cast("IntentForm", form)
        try:
            saved = self.carry_out(intent_form.call(dry_run=False), intent_form)
        except InfraError as error:
            self.message_user(request, str(error), level=messages.ERROR)
            return
        obj.pk = saved

    def save_related(self, *args: object, **kwargs: object) -> None:
        """Nothing related is saved beside an intent."""

    @abstractmethod
    def carry_out(self, call: Call, form: IntentForm) -> object:
        """Run the intent and return the primary key of what it declared."""

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        """Return False: deletion asks for the name, which the console and the API do."""
        del request, obj
        return False


@admin.register(Zone)
class ZoneAdmin(IntentAdmin):
    """Zones are facts."""

    fields = ["name", "parent", "kind_label", "jurisdiction", "labels"]
    list_display = ["name", "parent", "kind_label", "jurisdiction"]
    list_select_related = ["parent"]
    search_fields = ["name"]

    def carry_out(self, call: Call, form: IntentForm) -> object:
        data = form.cleaned_data
        parent = data["parent"].pk if data["parent"] else None
        said = {
            "name": data["name"],
            "parent": parent,
            "kind_label": data["kind_label"],
            "jurisdiction": data["jurisdiction"],
            "labels": data["labels"] or {},
        }
        if form.adding:
            return zones.create_zone(call, **said).pk
        return zones.change_zone(call, form.instance.pk, to_root=parent is None, **said).pk


@admin.register(Node)
class NodeAdmin(IntentAdmin):
    """The declared side of nodes; what agents tell is shown."""

    fields = [
        "name",
        "zone",
        "labels",
        "overcommit_vcpus",
        "overcommit_memory",
        "overcommit_disk",
        "lifecycle",
        "address",
        "vcpus",
        "memory_mib",
        "disk_gib",
        "capabilities",
        "problems",
    ]
    readonly_fields = [
        "lifecycle",
        "address",
        "vcpus",
        "memory_mib",
        "disk_gib",
        "capabilities",
        "problems",
    ]
    list_display = ["name", "zone", "lifecycle", "address", "vcpus", "memory_mib"]
    list_filter = ["lifecycle"]
    list_select_related = ["zone"]
    search_fields = ["name", "address"]

    def carry_out(self, call: Call, form: IntentForm) -> object:
        data = form.cleaned_data
        over_commit: Mapping[str, Decimal] = {
            part: data[f"overcommit_{part}"] for part in ("vcpus", "memory", "disk")
        }
        said = {"name": data["name"], "zone": data["zone"].pk, "labels": data["labels"] or {}}
        if form.adding:
            return nodes.create_node(call, over_commit=over_commit, **said).pk
        return nodes.change_node(call, form.instance.pk, over_commit=over_commit, **said).pk


@admin.register(Owner)
class OwnerAdmin(IntentAdmin):
    """Owners (teams) and who belongs to them."""

    fields = ["name", "is_default"]
    readonly_fields = ["is_default"]
    list_display = ["name", "is_default"]

    def carry_out(self, call: Call, form: IntentForm) -> object:
        name = form.cleaned_data["name"]
        if form.adding:
            return owners.create_owner(call, name=name).pk
        return owners.rename_owner(call, form.instance.pk, name).pk


@admin.register(Membership)
class MembershipAdmin(AnyAdmin):
    """A person's role in an owner."""

    list_display = ["user", "owner", "role"]
    list_select_related = ["user", "owner"]


@admin.register(Resource)
class ResourceAdmin(IntentAdmin):
    """Declared resources of every kind, saved by the kind's intent."""

    fields = [
        "kind",
        "name",
        "owner",
        "zone",
        "labels",
        "protected",
        "spec",
        "generation",
        "absent",
    ]
    readonly_fields = ["generation", "absent"]
    list_display = ["name", "kind", "owner", "zone", "generation", "absent", "deleted_at"]
    list_filter = ["kind", "absent"]
    list_select_related = ["owner", "zone"]
    search_fields = ["name"]
    show_full_result_count = False

    def get_readonly_fields(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> list[str]:
        del request
        fixed = [] if obj is None else ["kind", "name", "owner", "zone"]
        return [*self.readonly_fields, *fixed]

    def carry_out(self, call: Call, form: IntentForm) -> object:
        data = form.cleaned_data
        labels, protected = data["labels"] or {}, data["protected"]
        if form.adding:
            zone = data["zone"].pk if data["zone"] else None
            metadata = Metadata(data["name"], data["owner"].pk, zone, labels, protected)
            operation = KINDS[Kind(data["kind"])].declare(call, metadata, data["spec"])
        else:
            row = Resource.objects.get(pk=form.instance.pk)
            metadata = Metadata(row.name, labels=labels, protected=protected)
            operation = KINDS[Kind(row.kind)].redeclare(call, row.pk, metadata, data["spec"])
        return operation.resource_id


class RecordAdmin(AnyAdmin):
    """What was seen and done: shown, never edited."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        del request, obj
        return False


@admin.register(Operation)
class OperationAdmin(RecordAdmin):
    """Operations as records."""

    list_display = ["public_id", "kind", "resource_name", "state", "actor_label", "created_at"]
    list_filter = ["state"]


@admin.register(Step)
class StepAdmin(RecordAdmin):
    """Steps as records."""

    list_display = ["operation", "index", "kind", "state", "node", "sent_at"]
    list_select_related = ["operation", "node"]


@admin.register(Journal)
class JournalAdmin(RecordAdmin):
    """The journal as records."""

    list_display = ["at", "operation", "event", "before", "after", "because"]
    list_select_related = ["operation"]


@admin.register(AuditEvent)
class AuditEventAdmin(RecordAdmin):
    """The audit journal."""

    list_display = ["at", "actor_label", "action", "object_kind", "object_name", "request_id"]


@admin.register(Placement)
class PlacementAdmin(RecordAdmin):
    """Placements, those that hold and those that held."""

    list_display = ["resource", "node", "claimed_at", "released_at"]
    list_select_related = ["resource", "node"]


@admin.register(ResourceObservation)
class ResourceObservationAdmin(RecordAdmin):
    """What nodes said of resources."""

    list_display = ["resource", "node", "presence", "power", "seen_at"]
    list_select_related = ["resource", "node"]


@admin.register(FoundObject)
class FoundObjectAdmin(RecordAdmin):
    """Guests nobody declared."""

    list_display = ["name", "node", "power", "last_seen"]
    list_select_related = ["node"]


@admin.register(NodeCondition)
class NodeConditionAdmin(RecordAdmin):
    """What is so about nodes just now."""

    list_display = ["node", "kind", "since", "message"]
    list_select_related = ["node"]


@admin.register(NodeCertificate)
class NodeCertificateAdmin(RecordAdmin):
    """Certificates issued to nodes."""

    list_display = ["node", "fingerprint", "not_after", "revoked_at"]
    list_select_related = ["node"]


@admin.register(EnrolmentToken)
class EnrolmentTokenAdmin(RecordAdmin):
    """Tokens issued; their secrets are not kept."""

    list_display = ["node", "created_at", "expires_at", "used_at"]
    list_select_related = ["node"]


admin.site.register(User, UserAdmin)
admin.site.site_header = "Infra facts"
admin.site.site_title = "Infra"
admin.site.index_title = "Facts and records"
