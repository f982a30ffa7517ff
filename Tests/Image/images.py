"""What the tests of the image begin with, made while there is a network."""
from __future__ import annotations

import glob
import os
import subprocess
import tarfile

import debian
from support.programs import ROOT

BUILD = os.path.join(ROOT, "server", ".build")
# The two images that stand in for those which the compose file names take the same variables and keep their data where these do.
STAND_INS = {"postgres": ["postgresql"], "caddy": ["caddy"]}
POSTGRES = """#!/bin/sh
set -e
cd /
data=/var/lib/postgresql/data
bin=$(echo /usr/lib/postgresql/*/bin)
install -d -o postgres -g postgres -m 700 $data
install -d -o postgres -g postgres /run/postgresql
own() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ ! -e $data/PG_VERSION ]; then
    echo "$POSTGRES_PASSWORD" >/tmp/password
    own $bin/initdb -D $data --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 --locale=C.UTF-8
    echo "CREATE DATABASE $POSTGRES_DB" | own $bin/postgres --single -D $data postgres
    echo 'host all all all scram-sha-256' >>$data/pg_hba.conf
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups $bin/postgres -D $data -c listen_addresses='*'
"""


def archive() -> str:
    found = glob.glob(os.path.join(BUILD, "image", "beekon-server_*.tar"))
    return max(found, key=os.path.getmtime)


def stand_in(name: str) -> str:
    """The folder of a Debian with what an image needs."""
    return debian.made(STAND_INS[name], debian.HERE)


def again() -> str:
    """Where the image is that is made a second time."""
    return os.path.join(os.environ["TMPDIR"], "again")


def prepare():
    """What needs a network."""
    for name in STAND_INS:
        stand_in(name)
    os.makedirs(again())
    os.symlink(os.path.join(BUILD, "deb"), os.path.join(again(), "deb"))
    with tarfile.open(archive()) as image:
        # As of the same commit, whatever has been committed since.
        time = str(image.getmembers()[0].mtime)
    subprocess.run([os.path.join(ROOT, "etc", "build", "image"), again()], check=True,
                   env={**os.environ, "SOURCE_DATE_EPOCH": time})


if __name__ == "__main__":
    prepare()
