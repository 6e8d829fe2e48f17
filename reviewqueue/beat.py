"""The schedule's own Celery application: it sends names and imports no models, so it starts in half the time.

The tasks themselves belong to `reviewqueue.celery`, which the worker runs.
"""

from __future__ import annotations

import logging.config
from typing import Any

from celery import Celery
from celery.signals import setup_logging

from reviewqueue import settings

app = Celery("reviewqueue", fixups=[])
app.config_from_object(settings, namespace="CELERY")


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Celery replaces the logging configuration unless somebody answers this signal."""
    logging.config.dictConfig(settings.LOGGING)
