"""The supervisor behind `make run`: `python -m reviewqueue.up [--with-parent]`.

It starts PostgreSQL and Valkey (unless DATABASE_URL and REDIS_URL name others), migrates, loads demo data, starts
web, worker and beat, restarts what crashes, and ends everything when it is told to or dies itself.
`--with-parent` also ends it with the process that started it, as `make run` wants.

Exit codes:

    0  stopped by Ctrl-C, SIGTERM or SIGHUP
    1  a fault of ours: a traceback says which
    2  a setting or argument cannot be used
    3  already running in this DATA_DIR
    4  the port is taken
    5  this Python is older than 3.12
    6  a process kept ending: three times within a minute
    7  a server, the migrations or the demo data could not be set up, or nothing was ready in time
"""
