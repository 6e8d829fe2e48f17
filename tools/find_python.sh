#!/bin/sh
# Print a Python that can run Review Queue (3.12 or newer, 3.13 first), or say in one line what to do.
# PYTHON=/path/to/python chooses one.
set -u
pyenv_versions="${PYENV_ROOT:-$HOME/.pyenv}/versions"
for candidate in "${PYTHON:-}" python3.13 "$pyenv_versions"/3.13*/bin/python python3.12 "$pyenv_versions"/3.12*/bin/python python3; do
    [ -n "$candidate" ] || continue
    # A pyenv shim exists for every version that was ever installed, so each candidate has to answer for itself.
    found=$("$candidate" -c 'import sys; print(sys.executable if sys.version_info >= (3, 12) else "")' 2>/dev/null) || continue
    if [ -n "$found" ]; then
        echo "$found"
        exit 0
    fi
done
echo "Python 3.12 or newer is needed and was not found (python3 is $(python3 -V 2>&1)). Install 3.13, for example with \`pyenv install 3.13\`, or set PYTHON=/path/to/python3.13." >&2
exit 5
