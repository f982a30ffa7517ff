#!/bin/sh
# Process 1 of a virtual machine: a GPIO line and a power supply of the kernel, and beekond on them.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs tmp /run
exec >/dev/ttyS0 2>&1
trap 'echo "lines end: end"; sync; poweroff -f' EXIT
ip link set lo up 2>/dev/null
cd /root
mkdir -m 777 /run/b && mkdir -m 700 /var/lib/lines && chown nobody /var/lib/lines
cat >/run/b/c.toml <<TOML
[vehicle]
ignition = "gpio"
gpio_chip = "/dev/gpiochip0"
gpio_line = 1
supply = "test_ac"
ignition_debounce_seconds = 0.05
TOML
say() { echo "lines $1: $2"; }
ask() { beekonctl --socket /run/b/s ignition show --json 2>/dev/null | tr '{}' '\n\n'; }
# until NAME PATTERN SECONDS: what is known of ignition and power has it.
until_seen() {
    tries=$3
    while [ "$tries" -gt 0 ]; do
        if ask | grep -q "$2"; then say "$1" yes; return; fi
        tries=$((tries - 1)); sleep 1
    done
    say "$1" "no, $(ask | tr '\n' ' ')"
}
modprobe configfs
mount -t configfs config /sys/kernel/config
insmod modules/test_power.ko && say test_power loaded
setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/ beekond --config /run/b/c.toml --state-dir /var/lib/lines --socket /run/b/s >/run/b/log &
until_seen missing 'no such chip' 60
until_seen power '"external_power":true' 30
insmod modules/gpio-sim.ko && say gpio-sim loaded
van=/sys/kernel/config/gpio-sim/van
mkdir -p $van/bank0
echo 4 >$van/bank0/num_lines
echo 1 >$van/live
chip=$(cat $van/bank0/chip_name)
say chip "$(ls -l /dev/gpiochip*)"
chmod 600 "/dev/$chip"
until_seen denied 'Permission denied' 90
chmod 666 "/dev/$chip"
until_seen found '"ignition":"off"' 90
pull=/sys/devices/platform/gpio-sim.0/$chip/sim_gpio1/pull
pid=$(pgrep -x beekond)
level=0
set_level() { if [ "$1" = 1 ]; then echo pull-up >"$pull"; else echo pull-down >"$pull"; fi; }
now() { cut -d' ' -f1 /proc/uptime; }
edge=0
while [ $edge -lt 1000 ]; do
    edge=$((edge + 1))
    level=$((1 - level))
    before=$(now)
    # Bounce.
    set_level $level; set_level $((1 - level)); set_level $level
    if [ $((edge % 3)) = 0 ]; then set_level $((1 - level)); set_level $level; fi
    echo "$before $(now) $level" >>/var/lib/truth
    case $edge in
    200 | 600) kill -STOP "$pid" ;;
    400 | 900) kill -CONT "$pid" ;;
    esac
    if [ $((edge % 7)) = 0 ]; then sleep 0.01; else sleep 0.15; fi
done
sleep 2
say level $level
if [ $level = 1 ]; then word=on; else word=off; fi
until_seen after-edges "\"ignition\":\"$word\"" 30
say descriptors "$(ls -l "/proc/$pid/fd" | grep -c gpio)"
# More than the kernel keeps, while nobody reads.
kill -STOP "$pid"
edge=0
while [ $edge -lt 1501 ]; do edge=$((edge + 1)); level=$((1 - level)); before=$(now); set_level $level; echo "$before $(now) $level" >>/var/lib/truth; sleep 0.012; done
kill -CONT "$pid"
if [ $level = 1 ]; then word=on; else word=off; fi
until_seen after-overflow "\"ignition\":\"$word\"" 30
echo off >/sys/module/test_power/parameters/ac_online
until_seen power-lost '"external_power":false' 30
echo on >/sys/module/test_power/parameters/ac_online
until_seen power-back '"external_power":true' 30
echo 0 >$van/live
until_seen unplugged 'no such chip' 120
say degraded "$(beekonctl --socket /run/b/s status --json | grep -o '"degraded":[^]]*')"
kill -TERM "$pid"; wait
say log "$(grep -c . /run/b/log) lines"
tail -40 /run/b/log
