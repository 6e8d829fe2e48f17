"""How somebody wants the pages to behave. It changes nothing but their own pages."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class AfterDecision(models.TextChoices):
    NEXT = "next", "Open the next of the list that I came from"
    LIST = "list", "Go back to the list"
    STAY = "stay", "Stay with the handoff"


class Preference(models.Model):
    """`keys`: action → strokes, only where they differ from the usual ones; "" is an action without a key."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    single_keys = models.BooleanField(default=True)
    keys = models.JSONField(default=dict)
    after_decision = models.CharField(max_length=4, choices=AfterDecision.choices, default=AfterDecision.NEXT)

    class Meta:
        db_table = "preference"
