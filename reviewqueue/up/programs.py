"""The programs of the product, as arguments of its Python."""

from __future__ import annotations


def commands(*, host: str, port: int, threads: int) -> dict[str, list[str]]:
    """Name to arguments: web server, checking worker, schedule and sealer, in the order of their start."""
    web = ["-m", "granian", "--interface", "wsgi", "--host", host, "--port", str(port), "--workers", "1"]
    web += ["--blocking-threads", str(threads), "--http", "1", "--no-ws", "--workers-kill-timeout", "2"]
    web += ["reviewqueue.wsgi:application"]
    worker = ["-m", "celery", "-A", "reviewqueue", "worker", "--pool", "prefork", "--loglevel", "WARNING"]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    # The schedule is one short interval: nothing of it has to be remembered in a file.
    beat = ["-m", "celery", "-A", "reviewqueue.beat", "beat", "--scheduler", "celery.beat:Scheduler"]
    beat += ["--loglevel", "WARNING"]
    sealer = ["manage.py", "seal_audit", "--watch"]
    return {"web": web, "worker": worker, "beat": beat, "sealer": sealer}


#: What a program needs in its environment besides what all have.
ENVIRONMENT = {"sealer": {"DATABASE_ROLE": "sealer"}}
