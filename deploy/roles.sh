#!/bin/sh
# The three roles and the owner's database, once, when the volume of PostgreSQL is new.
set -eu
psql --username postgres --set ON_ERROR_STOP=1 --quiet \
    --set owner="$OWNER_PASSWORD" --set app="$APP_PASSWORD" --set sealer="$SEALER_PASSWORD" <<'SQL'
CREATE ROLE reviewqueue_owner LOGIN CREATEROLE NOSUPERUSER PASSWORD :'owner';
CREATE ROLE reviewqueue_app LOGIN NOSUPERUSER PASSWORD :'app';
CREATE ROLE reviewqueue_sealer LOGIN NOSUPERUSER PASSWORD :'sealer';
CREATE DATABASE reviewqueue OWNER reviewqueue_owner;
SQL
