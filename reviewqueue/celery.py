"""The Celery application. Its settings are the `CELERY_…` names of `reviewqueue.settings`."""

from __future__ import annotations

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_process_init, worker_ready
from django.conf import settings

from reviewqueue.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
# Django's checks import every page to look at its address. `make check` runs them; a worker starts a second sooner.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("reviewqueue")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Celery replaces the logging configuration unless somebody answers this signal."""
    logging.config.dictConfig(settings.LOGGING)


@worker_process_init.connect
def end_with_the_worker(**_: Any) -> None:
    """A pool process that is busy when its worker is killed must not finish alone."""
    die_with_parent()


@worker_ready.connect
def sweep_at_once(**_: Any) -> None:
    """What became due while no worker ran need not wait for the schedule, and `/readyz` sees the worker."""
    app.send_task("checkpoints.sweep", expires=5)
