"""The supervisor behind `make run`: `python -m reviewqueue.up`."""
