"""Fill the queue with a crowd of open handoffs, to see how lists behave when they are long."""

from __future__ import annotations

import logging
from typing import Any

from django.core.management.base import CommandParser

from checkpoints.management.answering import Answer, AnsweringCommand, Bar, Failed
from checkpoints.models import Handoff, Orchestrator
from reviewqueue.demo import crowd, staging

MOST = 1_000_000


class Command(AnsweringCommand):
    help = (
        "Post and judge handoffs of the orchestrator “crowd” until --open of them wait for a person. They go the way "
        "of all others, some hundreds a second, and stay: audit trails have no delete. So this is for a database of "
        "its own; where other orchestrators than the demo's have handoffs, --yes is asked for. Repeating it adds "
        "what is missing. Exit codes: 0 done, 1 not done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--open", type=int, default=50_000, help="how many (default: %(default)s)")
        parser.add_argument("--yes", action="store_true", help="also where other orchestrators have handoffs")

    def answer(self, options: dict[str, Any]) -> Answer:
        wanted = options["open"]
        if not 1 <= wanted <= MOST:
            raise Failed(f"--open is a whole number from 1 to {MOST}, not {wanted}.")
        others = Handoff.objects.exclude(orchestrator__name__in=[crowd.ORCHESTRATOR, staging.ORCHESTRATOR])
        if not options["yes"] and others.exists():
            raise Failed(
                "Other orchestrators have handoffs in this database, and a crowd cannot be taken away again. "
                "Use another database, or add --yes."
            )
        owner, _ = Orchestrator.objects.get_or_create(name=crowd.ORCHESTRATOR)
        missing = max(0, wanted - crowd.waiting(owner))
        bar = Bar("Posting and judging")
        level = logging.root.manager.disable
        logging.disable(logging.INFO)  # a line a verdict would bury the answer
        try:
            for done in crowd.gather(owner, missing):
                bar(done, missing)
        finally:
            logging.disable(level)
        bar.end()
        found = crowd.waiting(owner)
        return Answer(
            f"{found} handoffs of “{owner.name}” wait for a person, {missing} of them are new.",
            {"open": found, "added": missing},
        )
