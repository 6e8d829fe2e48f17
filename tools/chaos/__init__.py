"""`make chaos`: the real product under faults, judged from outside. docs/chaos.md says how to read it."""
