"""Kernel modules that Debian does not build, gpio-sim and test_power, made from its own source of the kernel."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

import debian

SOURCES = ("drivers/gpio/gpio-sim.c", "drivers/gpio/gpiolib.h", "kernel/irq/irq_sim.c", "drivers/power/supply/test_power.c")
NAMES = ("gpio-sim.ko", "test_power.ko")
BUILD = f"""set -e
mkdir -p /root/modules
cd /root/modules
tar -xf /usr/src/linux-source-6.1.tar.xz --strip-components=1 {" ".join("linux-source-6.1/" + name for name in SOURCES)}
cp drivers/gpio/gpio-sim.c sim.c
cp drivers/gpio/gpiolib.h drivers/power/supply/test_power.c kernel/irq/irq_sim.c .
# Modules may not look at descriptors of interrupts.
sed -i 's/handle_simple_irq(irq_to_desc(irqnum));/generic_handle_irq(irqnum);/' irq_sim.c
printf 'obj-m := gpio-sim.o test_power.o\\ngpio-sim-y := sim.o irq_sim.o\\n' >Makefile
make -s -C /lib/modules/*/build M=$PWD modules
"""


def root() -> str:
    """The Debian that they are built in, and for."""
    return debian.root("whole", debian.MODULES)


def built() -> str:
    """The folder with the modules, which are built if they are not there yet."""
    kept = root() + ".modules"
    if not all(os.path.exists(os.path.join(kept, name)) for name in NAMES):
        with tempfile.TemporaryDirectory(prefix="beekond-modules-") as folder:
            layer = debian.Layer(folder, "whole", debian.MODULES)
            try:
                subprocess.run(["chroot", layer.path, "sh", "-c", BUILD], check=True, timeout=600)
                os.makedirs(kept, exist_ok=True)
                for name in NAMES:
                    shutil.copy(os.path.join(layer.path, "root", "modules", name), kept)
            finally:
                layer.remove()
    return kept
