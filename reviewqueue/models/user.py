"""The people who sign in. One role each: an admin never decides, a manager never decides (contract §7)."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import AbstractUser
from django.db import models


class Role(models.TextChoices):
    OPERATOR = "operator", "Operator"
    SENIOR_OPERATOR = "senior_operator", "Senior operator"
    MANAGER = "manager", "Manager"
    ADMIN = "admin", "Admin"


def new_public_id() -> str:
    return "u_" + secrets.token_hex(8)


class User(AbstractUser):
    """`public_id` is what decisions, tickets and the audit trail name; it outlives renames."""

    public_id = models.CharField(max_length=40, unique=True, default=new_public_id, editable=False)
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.OPERATOR)

    class Meta:
        db_table = "account"

    @property
    def label(self) -> str:
        return self.get_full_name() or self.username

    @property
    def decides(self) -> bool:
        return self.is_active and self.role in (Role.OPERATOR, Role.SENIOR_OPERATOR)
