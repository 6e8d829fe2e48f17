"""The checks on the command line: `python -m checkpoints.cli check FILE…`. No Django, no database."""
