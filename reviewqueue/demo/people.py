"""The accounts of the demo. Their names are their roles; nobody's address is real."""

from __future__ import annotations

import secrets
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher

from checkpoints.types import COMMAND_LINE
from reviewqueue.models import Role, User
from reviewqueue.services.accounts import create_account

ACCOUNTS: Final[dict[str, Role]] = {
    "operator1": Role.OPERATOR,
    "operator2": Role.OPERATOR,
    "senior1": Role.SENIOR_OPERATOR,
    "senior2": Role.SENIOR_OPERATOR,
    "manager1": Role.MANAGER,
    "manager2": Role.MANAGER,
    "admin1": Role.ADMIN,
}


class NameTaken(Exception):
    """An account of a demo name exists that the demo did not make; it is left alone."""


def _address(username: str) -> str:
    return f"{username}@demo.invalid"  # marks the accounts that are ours to reset


def accounts() -> dict[str, User]:
    """The demo accounts by name, made where they are missing (without a password). Raises NameTaken."""
    found = {user.username: user for user in User.objects.filter(username__in=ACCOUNTS)}
    foreign = sorted(name for name, user in found.items() if user.email != _address(name))
    if foreign:
        raise NameTaken(
            f"Accounts named {', '.join(foreign)} exist here and are not the demo's. Nothing was changed: "
            "load the demo into a database of its own."
        )
    for name, role in ACCOUNTS.items():
        if name not in found:
            found[name] = create_account(
                username=name, role=role, password=None, actor=COMMAND_LINE, email=_address(name)
            )
    return found


def give_new_passwords(people: dict[str, User]) -> dict[str, str]:
    """A random password for each account; returns them by name. Old sessions of the accounts end."""
    passwords = {name: secrets.token_urlsafe(12) for name in people}
    for name, password in passwords.items():
        people[name].password = _quick_hash(password)
    User.objects.bulk_update(people.values(), ["password"])
    return passwords


def _quick_hash(password: str) -> str:
    # 96 random bits need no slow hash, and seven slow ones take seconds. The first sign-in replaces it.
    hasher = PBKDF2PasswordHasher()
    return str(hasher.encode(password, hasher.salt(), iterations=1000))
