"""All settings. Each reads one environment variable (or the file named by NAME_FILE); docs/settings.md lists them.

The database comes from DATABASE_URL, else from the servers that `make run` keeps in DATA_DIR. A wrong value
stops the start with a line per variable.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP
from environs import EnvValidationError, FileAwareEnv, validate

from reviewqueue.log_config import logging_config

BASE_DIR = Path(__file__).resolve().parent.parent
env = FileAwareEnv(eager=False)
positive = validate.Range(min=1)
not_negative = validate.Range(min=0)
one_word = validate.Regexp(r"[^\s+]+\Z", error="write one word without a plus sign")

# Where it runs
DATA_DIR = BASE_DIR / env.str("DATA_DIR", ".data")
PORT = env.int("PORT", 8000, validate=validate.Range(min=1, max=65_535))
PUBLIC_URL = env.str("PUBLIC_URL", "").rstrip("/") or f"http://127.0.0.1:{PORT}"
DEBUG = env.bool("DEBUG", False)
LOG_LEVEL = env.str("LOG_LEVEL", "INFO").upper()
LOG_FORMAT = env.str("LOG_FORMAT", "json", validate=validate.OneOf(["json", "console"]))
LOGGING = logging_config(level=LOG_LEVEL, log_format=LOG_FORMAT)

# Servers: from the environment, else the embedded ones (see reviewqueue.up), else none.
DATABASE_ROLE = env.str("DATABASE_ROLE", "app", validate=validate.OneOf(["app", "owner", "sealer"]))
DATABASE_POOL_SIZE = env.int("DATABASE_POOL_SIZE", 0, validate=not_negative)
DATABASE_STATEMENT_SECONDS = env.int("DATABASE_STATEMENT_SECONDS", 10, validate=not_negative)
DATABASE_LOCK_SECONDS = env.int("DATABASE_LOCK_SECONDS", 3, validate=not_negative)
DATABASE_TRANSACTION_SECONDS = env.int("DATABASE_TRANSACTION_SECONDS", 60, validate=not_negative)
DATABASE_IDLE_SECONDS = env.int("DATABASE_IDLE_SECONDS", 15, validate=not_negative)
_servers_file = DATA_DIR / "servers.json"


def _embedded_servers() -> dict[str, Any]:
    try:
        return json.loads(_servers_file.read_text())  # type: ignore[no-any-return]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ImproperlyConfigured(
            f"{_servers_file} cannot be read: {error}. Stop and start `make run`."
        ) from error


_servers = _embedded_servers()
_database_url = env.str("DATABASE_URL", "")
# Each role may have a URL of its own; without one it uses DATABASE_URL (then grants do not separate them).
_database_urls = {
    "app": _database_url,
    "owner": env.str("DATABASE_OWNER_URL", "") or _database_url,
    "sealer": env.str("DATABASE_SEALER_URL", "") or _database_url,
}
DATABASE_SOURCE = "DATABASE_URL"  # named in messages
if not _database_url:
    _database_urls = _servers.get("database_urls", {})
    DATABASE_SOURCE = str(_servers_file) if _database_urls else "none"


def pool_options(size: int) -> dict[str, int]:
    """The web process's pool. After a failure the pool itself would pause, twice as long each time, up to minutes;
    given up after a second, the next request tries anew, and a database that is back is used at once."""
    return {"min_size": min(4, size), "max_size": size, "timeout": 5, "reconnect_timeout": 1}


def database_config(role: str) -> dict[str, Any]:
    """The `DATABASES` entry of one role. The owner migrates, so no statement of its is cut short."""
    # Nothing listens on port 1: commands without a database work, others fail at once and manage.py says why.
    url = _database_urls.get(role) or "postgresql://nobody@127.0.0.1:1/none"
    config: dict[str, Any] = dict(dj_database_url.parse(url))
    if config["ENGINE"] != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            "DATABASE_URL must be postgresql://…: the product runs on PostgreSQL only."
        )
    limits = {
        "statement_timeout": 0 if role == "owner" else DATABASE_STATEMENT_SECONDS,
        "lock_timeout": 0 if role == "owner" else DATABASE_LOCK_SECONDS,
        "transaction_timeout": 0 if role == "owner" else DATABASE_TRANSACTION_SECONDS,
        "idle_in_transaction_session_timeout": DATABASE_IDLE_SECONDS,
    }
    options = dict(config.get("OPTIONS") or {})
    given = options.get("options", "")
    # Each statement that is prepared here is best planned once: plans for its values would be the same.
    set_once = [
        *(f"-c {name}={value}s" for name, value in limits.items()),
        "-c plan_cache_mode=force_generic_plan",
    ]
    options["options"] = " ".join([*set_once, given]).strip()
    options.setdefault("connect_timeout", 5)
    options.setdefault("application_name", f"reviewqueue-{role}")
    # Only statements that ask for it are prepared; without a threshold psycopg would prepare none at all.
    options.setdefault("prepare_threshold", 5)
    if DATABASE_POOL_SIZE:
        options["pool"] = pool_options(DATABASE_POOL_SIZE)
    return config | {
        "OPTIONS": options,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
    }


DATABASES = {"default": database_config(DATABASE_ROLE)}
REDIS_URL = env.str("REDIS_URL", "") or _servers.get("redis_url", "redis://127.0.0.1:1/0")

# Secrets
SECRET_KEY = env.str("SECRET_KEY", "") or _servers.get("secret_key", "")
SECRET_KEY_IS_RANDOM = not SECRET_KEY
SECRET_KEY = SECRET_KEY or secrets.token_urlsafe(48)  # enough for a command; the web process refuses it
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", [])
AUDIT_KEY_FILE = Path(env.str("AUDIT_KEY_FILE", "") or DATA_DIR / "secrets" / "audit-key.pem")
AUDIT_HEADS_FILE = Path(env.str("AUDIT_HEADS_FILE", "") or DATA_DIR / "audit-heads.txt")
AUDIT_ORIGIN = env.str("AUDIT_ORIGIN", "reviewqueue.local/audit", validate=one_word)
TICKET_KEY_FILE = Path(env.str("TICKET_KEY_FILE", "") or DATA_DIR / "secrets" / "ticket-key.pem")
METRICS_TOKEN = env.str("METRICS_TOKEN", "")

# Admission (contract §3) and the queue's own bounds. 0 switches a rate or quota off.
BODY_BYTES = env.int("BODY_BYTES", 1 << 20, validate=positive)
BODY_DEPTH = env.int("BODY_DEPTH", 64, validate=positive)
BODY_VALUES = env.int("BODY_VALUES", 100_000, validate=positive)
BATCH_BYTES = env.int("BATCH_BYTES", 8 << 20, validate=positive)
QUARANTINE_BYTES = env.int("QUARANTINE_BYTES", 100 << 20, validate=not_negative)
QUARANTINE_DAYS = env.int("QUARANTINE_DAYS", 30, validate=positive)
SUBMISSIONS_PER_MINUTE = env.int("SUBMISSIONS_PER_MINUTE", 0, validate=not_negative)
QUEUE_QUOTA = env.int("QUEUE_QUOTA", 0, validate=not_negative)
MAX_WAITERS = env.int("MAX_WAITERS", 200, validate=not_negative)
WEB_THREADS = env.int("WEB_THREADS", 232, validate=positive)
WORKER_PROCESSES = env.int("WORKER_PROCESSES", 2, validate=positive)
CHECK_LEASE_SECONDS = env.int("CHECK_LEASE_SECONDS", 15, validate=positive)
DRAIN_BATCH = env.int("DRAIN_BATCH", 64, validate=positive)

# People
APPROVALS_PER_MINUTE = env.int("APPROVALS_PER_MINUTE", 20, validate=not_negative)
REQUIRE_SECOND_FACTOR = env.bool("REQUIRE_SECOND_FACTOR", False)
STEP_UP_MINUTES = env.int("STEP_UP_MINUTES", 15, validate=positive)
SIGN_INS_PER_MINUTE = env.int("SIGN_INS_PER_MINUTE", 120, validate=positive)
SESSION_HOURS = env.int("SESSION_HOURS", 12, validate=positive)

# Hosts, cookies, headers
_public = urlsplit(PUBLIC_URL)
_https = _public.scheme == "https"
ALLOWED_HOSTS = [
    *{_public.hostname or "", "127.0.0.1", "localhost", "[::1]"},
    *env.list("ALLOWED_HOSTS", []),
]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SESSION_COOKIE_NAME = "__Host-session" if _https else "session"
CSRF_COOKIE_NAME = "__Host-csrf" if _https else "csrf"
CSRF_COOKIE_HTTPONLY = True  # forms and hx-headers carry the token; no script reads the cookie
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", False) else None
SECURE_REFERRER_POLICY = "same-origin"
CSRF_FAILURE_VIEW = "reviewqueue.pages.errors.csrf_failed"
X_FRAME_OPTIONS = "DENY"
SECURE_CSP: dict[str, list[str]] = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
    "object-src": [CSP.NONE],
}

try:
    env.seal()
except EnvValidationError as error:
    raise ImproperlyConfigured(f"Settings cannot be used (docs/settings.md lists them): {error}") from error

# Django (every env.… call stands above: sealing reports all wrong values at once)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
# Django refuses larger bodies before a view sees them; an edit form carries its document form-encoded.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(BATCH_BYTES, 4 * BODY_BYTES) + 65_536
INSTALLED_APPS = [
    "checkpoints",
    "reviewqueue",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "allauth.mfa",
]
MIDDLEWARE = [
    "checkpoints.api.middleware.MachineSurface",  # first: the API knows nothing of what follows
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "reviewqueue.urls"
WSGI_APPLICATION = "reviewqueue.wsgi.application"
APPEND_SLASH = False  # the API knows no redirects
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"},
}

AUTH_USER_MODEL = "reviewqueue.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_SIGNUP_ENABLED = False  # an admin makes accounts
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_RATE_LIMITS = {"login": f"{SIGN_INS_PER_MINUTE}/m/ip"}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Review Queue"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Review Queue",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "DESCRIPTION": "The gate in front of agent handoffs. Every error is an RFC 9457 problem document.",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": ["checkpoints.api.openapi.add_components"],
}

# Celery. Rows in the database say what is due; messages are only doorbells, so none of them needs to survive.
CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a broker that is away for long must not end the worker
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 5,
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
    "health_check_interval": 25,
}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_SOFT_TIME_LIMIT = 10
CELERY_TASK_TIME_LIMIT = 20
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = WORKER_PROCESSES
CELERY_WORKER_MAX_TASKS_PER_CHILD = 500
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 400_000  # KiB
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "checkpoints.sweep", "schedule": 1.0, "options": {"expires": 5}},
    "simulate": {"task": "reviewqueue.simulate", "schedule": 2.0, "options": {"expires": 2}},
    "forget-old-drafts": {
        "task": "reviewqueue.forget_old_drafts",
        "schedule": 3600.0,
        "options": {"expires": 600},
    },
}
