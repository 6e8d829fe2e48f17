"""Sets up the database of a run through the product's own services; prints token and logins as JSON."""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from checkpoints.services.policy import publish
    from checkpoints.services.tokens import create_token
    from checkpoints.types import COMMAND_LINE
    from reviewqueue.models import Role
    from reviewqueue.services.accounts import create_account
    from reviewqueue.services.keys import create_key
    from reviewqueue.services.minting import KeyFileSigner
    from tools.chaos.documents import policy
    from tools.chaos.machine import PASSWORD, PEOPLE

    call_command("migrate", verbosity=0)
    publish(document=policy("escalate"), actor=COMMAND_LINE, note="The policy of the run")
    for username, role in PEOPLE.items():
        create_account(username=username, role=Role(role), password=PASSWORD, actor=COMMAND_LINE)
    create_key(path=settings.TICKET_KEY_FILE)
    if os.geteuid() == 0:
        settings.TICKET_KEY_FILE.parent.chmod(0o700)
    token, _ = create_token(orchestrator_name="chaos", actor=COMMAND_LINE)
    jwks = KeyFileSigner(settings.TICKET_KEY_FILE).jwks()
    sys.stdout.write(json.dumps({"token": token, "jwks": jwks}) + "\n")


if __name__ == "__main__":
    main()
