"""Celery tasks of the human half: each calls one service. The rows say what is due."""

from __future__ import annotations

import contextlib

from celery import shared_task
from kombu.exceptions import OperationalError

from reviewqueue.services import edit_drafts, simulating


@shared_task(name="reviewqueue.simulate", ignore_result=True)
def simulate() -> None:
    """Judge one part of a simulation, then queue up again behind whatever came in meanwhile."""
    if simulating.work():
        # Without a broker the schedule goes on, a little slower.
        with contextlib.suppress(OperationalError):
            simulate.apply_async(expires=30)
    else:
        simulating.give_up()


@shared_task(name="reviewqueue.forget_old_drafts", ignore_result=True)
def forget_old_drafts() -> None:
    """Delete what nobody went on with for a month."""
    edit_drafts.forget_old_drafts()
