"""The other way to judge: one Celery task for each checkpoint, with the same checks and the same rows written."""

from __future__ import annotations

from reviewqueue.celery import app


@app.task(name="tools.bench.one_task.judge_one", ignore_result=True)
def judge_one(handoff_id: str) -> None:
    from checkpoints.checks import tokens
    from checkpoints.models import Handoff
    from checkpoints.services.bodies import current_body
    from checkpoints.services.verification import Claimed, judge_batch

    handoff = Handoff.objects.with_names().get(pk=handoff_id)
    claimed = Claimed(handoff, handoff.check_attempts, current_body(handoff=handoff))
    judge_batch([claimed], count_tokens=tokens.load())


@app.task(name="tools.bench.one_task.warm", ignore_result=True)
def warm() -> None:
    from checkpoints.checks import tokens

    tokens.load()
