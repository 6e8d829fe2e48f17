"""The web process: pages and API behind one WSGI callable."""

from __future__ import annotations

import os

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
# Request threads share connections; commands and workers each keep their own (psycopg pools do not survive a fork).
os.environ.setdefault("DATABASE_POOL_SIZE", "16")

from django.conf import settings

from reviewqueue.processes import die_with_parent

if settings.SECRET_KEY_IS_RANDOM:
    raise ImproperlyConfigured("SECRET_KEY is not set: sessions would end with this process. Set SECRET_KEY.")

die_with_parent()
application = get_wsgi_application()
