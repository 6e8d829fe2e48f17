"""What `python -m reviewqueue.up` says and returns where it cannot start."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reviewqueue.up
from reviewqueue.up.embedded import free_port
from reviewqueue.up.options import WrongOption, read_options
from reviewqueue.up.state import ROOT, State


def up(data_dir: Path, *arguments: str, python: str = sys.executable, **variables: str) -> tuple[int, str]:
    """Exit code and everything it printed."""
    environment = os.environ | {"DATA_DIR": str(data_dir), "PORT": str(free_port())} | variables
    argv = [python, "-m", "reviewqueue.up", *arguments]
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@contextmanager
def listening() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_a_second_start_in_the_same_folder_names_the_first(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.prepare()
    with state.lock("process 4711, http://127.0.0.1:8123"):
        code, said = up(tmp_path)
    assert code == 3
    assert said == (
        f"Already running in {tmp_path} (process 4711, http://127.0.0.1:8123). "
        "Stop it there, or choose another DATA_DIR and PORT.\n"
    )


def test_a_taken_port_is_named_with_what_to_do(tmp_path: Path) -> None:
    with listening() as port:
        code, said = up(tmp_path, PORT=str(port))
    assert code == 4
    assert said == f"Port {port} is taken by another program. Choose one, for example: PORT=8001 make run\n"


@pytest.mark.parametrize("variable", [{"PORT": "eighty"}, {"PORT": "70000"}, {"WEB_THREADS": "0"}])
def test_a_wrong_setting_is_named(tmp_path: Path, variable: dict[str, str]) -> None:
    code, said = up(tmp_path, **variable)
    name, value = next(iter(variable.items()))
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith(f"{name} is '{value}': it must be a whole number from 1 to ")


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(WrongOption, match="--help"):
        read_options(["--help"], {})


def test_a_database_without_its_passwords_is_not_touched() -> None:
    # Not below tmp_path, which only we may enter: for root the database would then stand elsewhere.
    with tempfile.TemporaryDirectory() as name:
        data_dir = Path(name)
        State(data_dir).prepare()
        (data_dir / "pg").mkdir()
        code, said = up(data_dir)
        assert (code, said.count("\n")) == (7, 1)
        assert said.startswith(f"{data_dir}/pg is there, but servers.json with its passwords is gone.")
        assert (data_dir / "pg").exists()


def _old_python() -> str | None:
    names = ("python3.11", "python3.10", "python3.9", "python3")
    folders = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.1[01]*/bin/python")
    )
    for candidate in (*folders, *filter(None, map(shutil.which, names))):
        probe = [str(candidate), "-c", "import sys; print(sys.version_info < (3, 12))"]
        done = subprocess.run(probe, capture_output=True, text=True, check=False)
        if done.stdout == "True\n":
            return str(candidate)
    return None


def test_an_old_python_is_refused_in_one_line(tmp_path: Path) -> None:
    python = _old_python()
    if python is None:
        pytest.skip("no Python older than 3.12 on this machine")
    code, said = up(tmp_path, python=python)
    assert (code, said.count("\n")) == (5, 1)
    assert "is too old: Review Queue needs 3.12 or newer" in said


def test_make_says_in_one_line_that_no_python_fits(tmp_path: Path) -> None:
    shell = shutil.which("sh") or "/bin/sh"
    (tmp_path / "python3").write_text(f'#!{shell}\n[ "$1" = -V ] && echo Python 3.9.2\n')
    (tmp_path / "python3").chmod(0o755)
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYENV_ROOT": str(tmp_path)}
    script = [shell, str(ROOT / "tools" / "find_python.sh")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (5, 1)
    assert "python3 is Python 3.9.2" in done.stderr
    assert "Install 3.13" in done.stderr


def test_the_lock_falls_with_its_process(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.prepare()
    state.lock("first").close()
    with (tmp_path / "lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_files_with_passwords_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    state = State(tmp_path)
    state.prepare()
    state.write_servers(state.passwords(), postgres_port=1, valkey_port=2)
    assert (tmp_path / "servers.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert state.passwords() == state.passwords()  # kept over a restart


def test_the_documentation_lists_the_exit_codes_of_the_module() -> None:
    documented = re.findall(r"^\| (\d) \|", (ROOT / "docs" / "running.md").read_text(), re.MULTILINE)
    assert documented == re.findall(r"^    (\d)  ", reviewqueue.up.__doc__ or "", re.MULTILINE)
    assert documented == [str(code) for code in range(8)]
