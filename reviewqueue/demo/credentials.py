"""DATA_DIR/demo.json: how to sign in to the demo and how to call its API (contract §11)."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from checkpoints.errors import ReviewQueueError
from checkpoints.models import ApiToken
from checkpoints.services import tokens
from checkpoints.types import COMMAND_LINE
from reviewqueue.demo.people import ACCOUNTS, give_new_passwords
from reviewqueue.demo.staging import ORCHESTRATOR
from reviewqueue.models import User

LABEL = "demo.json"


def still_good(path: Path) -> bool:
    """Whether the file's token is valid in this database. Logins and token are always written together."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        caller = tokens.authenticate(text=found["token"])
    except (OSError, ValueError, KeyError, TypeError, ReviewQueueError):
        return False
    return caller.orchestrator.name == ORCHESTRATOR


def issue(*, people: dict[str, User], base_url: str, second_factor: bool, path: Path) -> None:
    """New passwords, a new token with all scopes, and the file that holds both, readable by its owner only."""
    passwords = give_new_passwords(people)
    for old in ApiToken.objects.filter(orchestrator__name=ORCHESTRATOR, label=LABEL, revoked_at__isnull=True):
        tokens.revoke(token_id=old.pk, actor=COMMAND_LINE)
    token, _ = tokens.create_token(orchestrator_name=ORCHESTRATOR, label=LABEL, days=365, actor=COMMAND_LINE)
    users = [
        {"username": name, "password": passwords[name], "role": role.value} for name, role in ACCOUNTS.items()
    ]
    content = {"base_url": base_url, "token": token, "users": users}
    _write(path, content | {"second_factor": "on" if second_factor else "off"})


def _write(path: Path, content: dict[str, Any]) -> None:
    """The whole file or none: a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")
    draft.replace(path)
