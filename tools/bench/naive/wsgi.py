"""The naive web process."""

from __future__ import annotations

import os

os.environ["DJANGO_SETTINGS_MODULE"] = "tools.bench.naive.settings"

from django.core.wsgi import get_wsgi_application

application = get_wsgi_application()
