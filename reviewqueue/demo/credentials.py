"""DATA_DIR/demo.json: how to sign in to the demo and how to call its API (contract §11)."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from reviewqueue.demo.people import ACCOUNTS, give_new_passwords
from reviewqueue.models import User


def still_good(path: Path) -> bool:
    """Whether the file's logins are those of this database."""
    return path.exists()


def issue(*, people: dict[str, User], base_url: str, second_factor: bool, path: Path) -> None:
    """New passwords and the file that holds them, readable by its owner only."""
    passwords = give_new_passwords(people)
    users = [
        {"username": name, "password": passwords[name], "role": role.value} for name, role in ACCOUNTS.items()
    ]
    content = {"base_url": base_url, "token": "", "users": users}
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
