"""The queue: wake-ups only. The rows in PostgreSQL are the truth; losing every message is safe."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "infra.settings")

app = Celery("infra")
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_store_errors_even_if_ignored=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # A wake-up is worth little waiting: without Redis the sweeps find the work.
    broker_connection_timeout=1,
    broker_transport_options={
        "visibility_timeout": 600,
        "socket_connect_timeout": 1,
        "socket_timeout": 5,
        "retry_on_timeout": False,
        "max_retries": 1,
    },
    timezone="UTC",
)
app.conf.beat_schedule = {
    # Each sweep reads the whole state and takes no argument, so a lost beat costs only time.
    "advance-due-operations": {"task": "operations.sweep_due", "schedule": 2.0},
    "settle-lost-steps": {"task": "operations.sweep_lost", "schedule": 5.0},
    "repair-drift": {"task": "operations.sweep_drift", "schedule": 5.0},
    "watch-nodes": {"task": "operations.sweep_nodes", "schedule": 5.0},
    "prune-records": {"task": "operations.sweep_retention", "schedule": 600.0},
    "prune-kept-answers": {"task": "api.sweep_idempotency", "schedule": 600.0},
}
app.autodiscover_tasks(["operations", "infra.api"])
