#!/bin/sh
# Bundle the editor of the edit page into static/vendor: the same versions give the same bytes. Needs npm.
# package-lock.json holds versions and hashes and no addresses; `make check` hashes the result.
set -eu
cd "$(dirname "$0")"
npm install --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved --silent
node_modules/.bin/esbuild editor.mjs --bundle --minify --format=esm --target=es2022 --legal-comments=none \
    --outfile=../../static/vendor/editor.min.mjs --log-level=warning
{
    for package in node_modules/@codemirror/* node_modules/@lezer/* node_modules/@marijn/* node_modules/crelt node_modules/style-mod node_modules/w3c-keyname; do
        printf '%s %s\n\n' "${package#node_modules/}" "$(node -p "require('./$package/package.json').version")"
        cat "$package/LICENSE"
        printf '\n'
    done
} > ../../static/vendor/licences/codemirror.txt
