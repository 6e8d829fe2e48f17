"""A process that has imported a program and forks copies of it on request.

Importing the product costs seconds of processor time. A run that kills its programs hundreds of times would spend
all of its time on that, so each kind of program has a nursery. A copy runs the program's own command line, in a
process group of its own, and dies with its parent.

Requests and answers are JSON lines: {"argv", "env", "log"} on standard input, {"pid"} on standard output.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import sys
import threading
from typing import Any, Final, NoReturn

from reviewqueue.processes import set_parent_death_signal

MODULES: Final = {
    "web": ("granian.cli", "reviewqueue.wsgi"),
    "worker": ("celery.bin.celery", "celery.apps.worker", "kombu.transport.redis", "reviewqueue.celery"),
    "sealer": ("django", "reviewqueue.settings"),
    "beat": ("celery.bin.celery", "celery.apps.beat", "kombu.transport.redis", "reviewqueue.beat"),
}


def preload(kind: str) -> None:
    """Import what the program imports. Threads and connections do not survive a fork, so none may be left."""
    for name in MODULES[kind]:
        importlib.import_module(name)
    if kind == "web":
        from django.urls import get_resolver

        for urlconf in (None, "checkpoints.api.urls"):
            get_resolver(urlconf).url_patterns  # noqa: B018 - reading them imports the views
    elif kind == "worker":
        from reviewqueue.celery import app

        app.loader.import_default_modules()
    elif kind == "sealer":
        import django

        django.setup()
        importlib.import_module("reviewqueue.services.sealer")
    if kind in ("web", "worker"):
        from django.db import connections

        _judge_once()
        connections.close_all()
        for connection in connections.all():
            connection.close_pool()  # type: ignore[attr-defined]
    if threading.active_count() > 1:
        raise RuntimeError(f"threads are left before the first fork: {threading.enumerate()}")


def _judge_once() -> None:
    """Whatever the first judgement of a process would load: token counts, schemas, the catalogue."""
    from datetime import UTC, datetime

    from checkpoints.checks import tokens
    from checkpoints.formats import admit
    from checkpoints.policies import judge
    from checkpoints.types import CheckContext, CheckPolicy, Limits
    from tools.chaos.documents import Author

    draft = Author("warm").draft("s-warm", 1)
    context = CheckContext(
        received_at=datetime.now(UTC),
        policy=CheckPolicy(),
        checkpoint_id="c-warm",
        handoff_sequence=1,
        count_tokens=tokens.load(),
    )
    judge(admit(draft.body, Limits()), context)


def serve(kind: str) -> None:
    """Fork on request until standard input ends."""
    preload(kind)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel clears dead copies away
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C at the terminal is for the run, which stops us
    _tell({"ready": True})
    while line := sys.stdin.readline():
        request = json.loads(line)
        mother = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become(request, mother)
        os.setpgid(pid, pid)
        _tell({"pid": pid})


def _tell(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def _become(request: dict[str, Any], mother: int) -> NoReturn:
    """Run the program of the request in this fork, as if it had been started alone."""
    os.setpgid(0, 0)
    set_parent_death_signal(signal.SIGKILL, mother)
    # What the program forks dies with it: the product's own ties are made at import, which is over.
    os.register_at_fork(after_in_child=lambda: set_parent_death_signal(signal.SIGKILL))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.environ.update(request["env"])
    _, module, *sys.argv[1:] = request["argv"]
    code = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
