#!/bin/sh
# Build .venv from hashed requirements: `tools/environment.sh run` or `dev` (dev contains run), or .venv-compared:
# `tools/environment.sh compared`, what `make bench` compares with.
# Nothing is installed when the stamp of the same requirements is there.
set -eu
cd "$(dirname "$0")/.."
kind=$1
folder=.venv
if [ "$kind" = compared ]; then folder=.venv-compared; fi
mkdir -p .stamps
if command -v flock >/dev/null 2>&1 && [ "${ENVIRONMENT_LOCKED:-}" != yes ]; then
    # `make run` and `make test` started together build it once.
    ENVIRONMENT_LOCKED=yes exec flock .stamps/lock tools/environment.sh "$kind"
fi
wanted=$(cat "requirements/$kind.txt" requirements/uv.txt)
fresh() { [ -x "$folder/bin/python" ] && [ -f ".stamps/$1" ] && [ "$wanted" = "$(cat ".stamps/$1")" ]; }
if fresh "$kind"; then exit 0; fi

python=$(tools/find_python.sh)
export UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1
if [ ! -x .venv-tools/bin/uv ] || [ "$(cat requirements/uv.txt)" != "$(cat .stamps/uv 2>/dev/null)" ]; then
    rm -rf .venv-tools
    "$python" -m venv .venv-tools || {
        echo "$python cannot make a virtual environment: install its venv module (Debian: apt-get install python3-venv)." >&2
        exit 5
    }
    .venv-tools/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
    cp requirements/uv.txt .stamps/uv
fi
# uv does not read pip's settings; where pip is told to use another index, uv has to be told too.
index=${PIP_INDEX_URL:-$(.venv-tools/bin/pip config get global.index-url 2>/dev/null || true)}
if [ -n "$index" ] && [ -z "${UV_DEFAULT_INDEX:-}" ]; then export UV_DEFAULT_INDEX="$index"; fi
if [ ! -x "$folder/bin/python" ]; then
    .venv-tools/bin/uv venv --quiet --python "$python" "$folder"
fi
if [ "$kind" = compared ]; then rm -f .stamps/compared; else rm -f .stamps/run .stamps/dev; fi
VIRTUAL_ENV="$PWD/$folder" .venv-tools/bin/uv pip sync --quiet --require-hashes "requirements/$kind.txt"
printf '%s\n' "$wanted" > ".stamps/$kind"
if [ "$kind" = dev ]; then
    # Everything that running needs is in it: `make run` has nothing to do afterwards.
    cat requirements/run.txt requirements/uv.txt > .stamps/run
fi
