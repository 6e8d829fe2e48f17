"""The settings: documented one by one, refused by name, pointed at servers by variables."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: The supervisor reads these itself; see reviewqueue/up/options.py.
OF_THE_SUPERVISOR = {"HOST": "127.0.0.1", "DEMO_DATA": "true"}


def in_the_code() -> dict[str, str]:
    """Variable to default, as the documentation writes it."""
    found = dict(OF_THE_SUPERVISOR)
    for node in ast.walk(ast.parse((ROOT / "reviewqueue" / "settings.py").read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if getattr(node.func.value, "id", "") != "env" or not node.args:
            continue
        name, default = (eval(compile(ast.Expression(item), "", "eval")) for item in node.args[:2])  # noqa: S307
        found[name] = str(default).lower() if default is False else "" if default == [] else str(default)
    return found


def in_the_documentation() -> dict[str, str]:
    text = (ROOT / "docs" / "settings.md").read_text()
    return dict(re.findall(r"^\| `([A-Z_]+)` \| (?:`(.*?)` )?\| \S", text, re.MULTILINE))


def bare(**variables: str) -> dict[str, str]:
    """This environment without any setting of ours but `variables`, and without servers to find."""
    ours = {suffixed for name in in_the_code() for suffixed in (name, f"{name}_FILE")}
    kept = {name: text for name, text in os.environ.items() if name not in ours | {"DJANGO_SETTINGS_MODULE"}}
    return kept | {"DATA_DIR": "/nowhere"} | variables


def evaluated(expression: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Print one expression over the settings of a new process with just these variables."""
    code = f"from reviewqueue import settings; import json; print(json.dumps({expression}))"
    argv = [sys.executable, "-c", code]
    return subprocess.run(argv, cwd=ROOT, env=bare(**variables), capture_output=True, text=True, check=False)


def value(expression: str, **variables: str) -> object:
    done = evaluated(expression, **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_setting_stands_in_the_documentation_with_its_default() -> None:
    assert in_the_documentation() == in_the_code()


def test_all_wrong_values_are_named_at_once() -> None:
    done = evaluated("settings.PORT", PORT="eighty", BODY_BYTES="0")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "'PORT'" in last
    assert "'BODY_BYTES'" in last


def test_another_database_than_postgresql_is_refused() -> None:
    done = evaluated("settings.DATABASES", DATABASE_URL="sqlite:///x.db")
    assert "DATABASE_URL must be postgresql://" in done.stderr


@pytest.mark.parametrize(("role", "user"), [("app", "a"), ("owner", "o"), ("sealer", "s")])
def test_each_role_uses_its_own_address(role: str, user: str) -> None:
    urls = {
        "DATABASE_URL": "postgresql://a@db/x",
        "DATABASE_OWNER_URL": "postgresql://o@db/x",
        "DATABASE_SEALER_URL": "postgresql://s@db/x",
    }
    assert value("settings.DATABASES['default']['USER']", DATABASE_ROLE=role, **urls) == user


def test_the_servers_of_make_run_are_found_in_its_folder(tmp_path: Path) -> None:
    urls = {name: f"postgresql://{name}:pw@127.0.0.1:5/reviewqueue" for name in ("app", "owner", "sealer")}
    servers = {"database_urls": urls, "redis_url": "redis://127.0.0.1:6/0", "secret_key": "of the folder"}
    (tmp_path / "servers.json").write_text(json.dumps(servers))
    expression = "[settings.DATABASES['default']['USER'], settings.REDIS_URL, settings.SECRET_KEY]"
    assert value(expression, DATA_DIR=str(tmp_path)) == ["app", "redis://127.0.0.1:6/0", "of the folder"]
    given = {"DATABASE_URL": "postgresql://me@db/x", "REDIS_URL": "redis://cache/1"}
    assert value(expression, DATA_DIR=str(tmp_path), **given) == ["me", "redis://cache/1", "of the folder"]


def test_a_secret_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("out of a file\n")
    assert value("settings.SECRET_KEY.strip()", SECRET_KEY_FILE=str(tmp_path / "key")) == "out of a file"


def test_cookies_are_secure_where_the_public_address_is() -> None:
    expression = (
        "[settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE, settings.SECURE_HSTS_SECONDS > 0]"
    )
    assert value(expression, PUBLIC_URL="https://review.example/") == ["__Host-session", True, True]
    assert value(expression) == ["session", False, False]


def test_the_web_process_does_not_start_with_a_secret_key_of_its_own_making() -> None:
    argv = [sys.executable, "-c", "import reviewqueue.wsgi"]
    done = subprocess.run(argv, cwd=ROOT, env=bare(), capture_output=True, text=True, check=False)
    assert "SECRET_KEY is not set" in done.stderr.splitlines()[-1]


def test_a_command_without_a_database_says_what_to_do() -> None:
    argv = [sys.executable, "manage.py", "showmigrations"]
    done = subprocess.run(argv, cwd=ROOT, env=bare(), capture_output=True, text=True, check=False)
    assert done.stderr == "No database: start `make run` in this folder first, or set DATABASE_URL.\n"
    assert done.returncode == 1
