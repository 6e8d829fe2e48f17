"""The product's settings, with what only tests may have."""

from __future__ import annotations

from reviewqueue.settings import *  # noqa: F403 - a settings module is read by name

# Thousands of sign-ins: the real hasher is slow on purpose.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# Files straight from their folders: nothing has to be collected first.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_AUTOREFRESH = True
WHITENOISE_USE_FINDERS = True
