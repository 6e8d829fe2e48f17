"""Making accounts. Each is an entry in the audit trail; nobody can sign up."""

from __future__ import annotations

import re
from typing import Final

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from checkpoints.errors import InvalidInput, ProblemError
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.types import Actor
from reviewqueue.models import Role, User

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,149}")


def create_account(*, username: str, role: Role, password: str | None, actor: Actor, email: str = "") -> User:
    """A new account; without a password nobody can sign in to it yet. Raises InvalidInput."""
    if not _NAME.fullmatch(username):
        _refuse(
            "username", "A name has 1 to 150 letters, digits or . _ @ + -, and starts with a letter or digit."
        )
    user = User(username=username, email=email, role=role)
    if password is None:
        user.set_unusable_password()
    else:
        try:
            validate_password(password, user)
        except ValidationError as error:
            _refuse("password", " ".join(error.messages))
        user.set_password(password)
    try:
        with transaction.atomic(durable=True):
            user.save(force_insert=True)
            audit.record(
                audit.Entry(
                    action="account.created",
                    actor=actor,
                    subject=("account", user.public_id),
                    at=now(),
                    after={"username": username, "role": role.value},
                )
            )
    except IntegrityError:
        _refuse("username", f"An account named {username} exists already.")
    return user


def _refuse(name: str, text: str) -> None:
    raise InvalidInput(text, errors=[ProblemError(name, "invalid", text)])
