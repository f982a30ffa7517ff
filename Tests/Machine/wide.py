"""A kernel for arm64 with pages of 64 KiB, made from Debian's source, as Debian has none: for virtual hardware alone."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

import debian

OPTIONS = """
    ARM64_64K_PAGES SMP MULTIUSER PRINTK BUG KALLSYMS SYSCTL COREDUMP BINFMT_ELF BINFMT_SCRIPT
    SYSVIPC POSIX_MQUEUE FUTEX EPOLL SIGNALFD TIMERFD EVENTFD AIO SHMEM ADVISE_SYSCALLS MEMBARRIER RSEQ FHANDLE
    POSIX_TIMERS HIGH_RES_TIMERS FILE_LOCKING INOTIFY_USER
    CGROUPS MEMCG CGROUP_PIDS CGROUP_SCHED FAIR_GROUP_SCHED CGROUP_BPF BPF_SYSCALL
    NAMESPACES UTS_NS IPC_NS USER_NS PID_NS NET_NS SECCOMP SECCOMP_FILTER
    PROC_FS SYSFS TMPFS TMPFS_POSIX_ACL TMPFS_XATTR DEVTMPFS DEVTMPFS_MOUNT BLOCK EXT4_FS EXT4_FS_POSIX_ACL AUTOFS_FS
    NET UNIX PACKET INET IPV6 NETDEVICES NET_CORE
    PCI PCI_HOST_GENERIC VIRTIO_MENU VIRTIO_PCI BLK_DEV VIRTIO_BLK VIRTIO_NET HW_RANDOM HW_RANDOM_VIRTIO
    TTY UNIX98_PTYS SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE SERIAL_8250 SERIAL_8250_PCI RTC_CLASS RTC_DRV_PL031
    CC_OPTIMIZE_FOR_PERFORMANCE
"""
BUILD = f"""set -e
mkdir /root/linux
cd /root/linux
tar -xf /usr/src/linux-source-6.1.tar.xz --strip-components=1
export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
options="{OPTIONS}"
make -s allnoconfig
for option in $options; do ./scripts/config -e "$option"; done
./scripts/config --set-val SERIAL_8250_NR_UARTS 8 --set-val SERIAL_8250_RUNTIME_UARTS 8
make -s olddefconfig
for option in $options; do
    grep -qx "CONFIG_$option=y" .config || {{ echo "$option cannot be had" >&2; exit 1; }}
done
make -s -j"$(nproc)" Image
"""


def built() -> str:
    """The kernel, which is built if it is not there yet (5 to 20 minutes)."""
    root = debian.made(debian.WIDE, debian.HERE)
    kept = root + ".kernel"
    if not os.path.exists(kept):
        with tempfile.TemporaryDirectory(prefix="beekond-kernel-", dir=debian.KEPT) as folder:
            layer = debian.overlay(root, folder)
            try:
                subprocess.run(["chroot", layer, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "sh", "-c", BUILD],
                               check=True, timeout=3600)
                shutil.copy(os.path.join(layer, "root/linux/arch/arm64/boot/Image"), kept)
            finally:
                subprocess.run(["umount", layer], check=True)
    return kept
