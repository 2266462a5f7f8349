"""The outbox: what changed, for whoever watches. Written in the transaction of the change."""

from django.db import models
from django.db.models import Func


class CurrentTransaction(Func):
    """The id of the writing transaction: readers order by it, so that none is passed over."""

    template = "(pg_current_xact_id()::text::bigint)"
    output_field = models.BigIntegerField()


class Event(models.Model):
    """One change. NOTIFY only wakes; this row is what is read and replayed.

    Sequence numbers are drawn before commit, so a lower `id` may appear after a higher one.
    Readers therefore take only rows whose `transaction` is older than every running one, in the
    order (`transaction`, `id`).
    """

    id = models.BigAutoField(primary_key=True)
    transaction = models.BigIntegerField(db_default=CurrentTransaction(), editable=False)
    at = models.DateTimeField()
    topic = models.CharField(max_length=32)
    action = models.CharField(max_length=50)
    object_id = models.UUIDField()
    owner_id = models.UUIDField(null=True)
    operation_id = models.UUIDField(null=True)
    data = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["transaction", "id"], name="inventory_event_order")]

    def __str__(self) -> str:
        return f"{self.topic} {self.action} {self.object_id}"
