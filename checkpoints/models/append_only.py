"""Rows that are written once. The database refuses the same by trigger and by grants."""

from __future__ import annotations

from typing import Any

from django.db import models


class AppendOnlyError(Exception):
    """Code of ours tried to change or delete a fact."""


class AppendOnly(models.Model):
    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnlyError(f"{type(self).__name__} rows are written once")
        kwargs["force_insert"] = True
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnlyError(f"{type(self).__name__} rows are never deleted")
