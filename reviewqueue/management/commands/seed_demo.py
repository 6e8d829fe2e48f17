"""Load the demo: policy, accounts, token and incidents, each where it is missing."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from reviewqueue.demo import credentials, people, staging
from reviewqueue.services.keys import create_key


class Command(AnsweringCommand):
    help = (
        "Load the demo data: a policy, accounts, a token, and incidents that are posted, judged and decided on. "
        "Repeating it adds only what is missing. Logins and token are written to DATA_DIR/demo.json. "
        "Exit codes: 0 loaded, 1 not loaded."
    )

    def answer(self, options: dict[str, Any]) -> Answer:
        create_key(path=settings.TICKET_KEY_FILE)
        published = staging.publish_policy()
        path = settings.DATA_DIR / "demo.json"
        try:
            accounts = people.accounts()
            staged = staging.stage(accounts)
        except (people.NameTaken, staging.NotJudged) as problem:
            raise Failed(str(problem)) from problem
        renewed = not credentials.still_good(path)
        if renewed:
            credentials.issue(
                people=accounts,
                base_url=settings.PUBLIC_URL,
                second_factor=settings.REQUIRE_SECOND_FACTOR,
                path=path,
            )
        text = (
            f"{len(staged)} handoffs added; logins and token {'are new' if renewed else 'stay'}: {path}. "
            + ("The demo policy is in force." if published else "The policy was left as it is.")
        )
        return Answer(
            text,
            {
                "added": len(staged),
                "policy_published": published,
                "credentials_renewed": renewed,
                "demo_file": str(path),
            },
        )
