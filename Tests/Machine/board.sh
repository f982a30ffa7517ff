#!/bin/sh
# Looks at the installed service from inside a virtual machine, and says what it finds on the console.
say() { echo "board $1: $2"; }
field() { beekonctl status --json | tr '{},' '\n\n\n' | grep -m1 "^\"$1\":" | cut -d: -f2- | tr -d '"'; }
# until NAME COMMAND…: yes once the command succeeds.
until_true() {
    name=$1 tries=120
    shift
    while [ "$tries" -gt 0 ]; do
        if "$@" 2>/dev/null; then say "$name" yes; return; fi
        tries=$((tries - 1)); sleep 1
    done
    say "$name" no
}
stored() { [ "$(field admitted)" -ge "$1" ]; }
mib() { awk "/^$1:/ { printf \"%.1f\", \$2 / 1024 }" "/proc/$(pid)/status"; }
pid() { systemctl show --value -p MainPID beekond; }

say machine "$(uname -m), $(uname -r)"
say pages "$(getconf PAGESIZE)"
# A pattern finds packages that are not installed as well: those have no version.
say versions "systemd $(systemctl --version | awk 'NR == 1 { print $2 }')$(dpkg-query -W -f '${Package} ${Version}\n' \
    gpsd libsqlite3-0 'libcurl4*' 'libgps*' | awk 'NF == 2 { printf ", %s", $0 }')"
say package "$(dpkg-query -W -f '${Version} ${Architecture}' beekond)"
until_true stored stored 3
started=$(systemctl show --value -p ExecMainStartTimestampMonotonic beekond)
ready=$(systemctl show --value -p ActiveEnterTimestampMonotonic beekond)
say ready "$(((ready - started) / 1000)) ms"
say socket "$(stat -c '%U %G %a' /run/beekond/beekond.sock)"
useradd --groups beekon alice
useradd bob
session=$(field session_id)
say member "$(runuser -u alice -- beekonctl start >/dev/null 2>&1; echo $?)"
say stranger "$(runuser -u bob -- beekonctl status >/dev/null 2>&1; echo $?)"
say exposure "$(systemd-analyze security --no-pager beekond | sed -n 's/.*Overall exposure level for [^:]*: \([0-9.]*\).*/\1/p')"
say memory "$(mib VmRSS) MB, anonymous $(mib RssAnon) MB"
killed=$(pid)
kill -KILL "$killed"
again() { [ "$(pid)" != 0 ] && [ "$(pid)" != "$killed" ] && [ "$(systemctl is-active beekond)" = active ] && stored 2; }
until_true comes-back again
if [ "$(field session_id)" = "$session" ]; then say same-session yes; else say same-session no; fi
say end end
