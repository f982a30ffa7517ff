// Kernel interfaces missing from the Glibc module.
#ifndef CLINUX_H
#define CLINUX_H

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

// Variadic in C.
static inline void clinux_set_thread_name(const char *name) {
    prctl(PR_SET_NAME, name);
}

static inline void clinux_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    // Either call suffices; a sandbox may forbid one of them.
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

// Makes all threads allocate from one heap; must be called before any thread is started.
void clinux_use_one_heap(void);

// Releases free heap, and the mapped pages of code and constants of this program and its libraries, which are mapped
// again from the page cache when used.
void clinux_release_unused_memory(void);

// struct ucred needs _GNU_SOURCE, with which this module's fd_set would conflict with that of the Glibc module.
struct clinux_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

static inline int clinux_peer_credentials(int socket, struct clinux_credentials *credentials) {
    socklen_t size = sizeof *credentials;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials, &size);
}

// The peer's supplementary groups. Returns their number, or -1 (ERANGE when there are more than `limit`).
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
static inline int clinux_peer_groups(int socket, uint32_t *groups, int limit) {
    socklen_t size = (socklen_t)(limit * (int)sizeof *groups);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) {
        return -1;
    }
    return (int)(size / sizeof *groups);
}

// accept4 needs _GNU_SOURCE as well.
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);
static inline int clinux_accept(int socket, int flags) {
    return accept4(socket, NULL, NULL, flags);
}

// These also need _GNU_SOURCE. The values are the same on every architecture that Swift runs on.
static const int CLINUX_O_PATH = 010000000, CLINUX_AT_EMPTY_PATH = 0x1000;

// sigset_t is filled by macros and functions that differ between C libraries.
static inline int clinux_block_signals(const int *signals, int count, int flags) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++) {
        sigaddset(&set, signals[i]);
    }
    int code = pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (code != 0) {
        errno = code;
        return -1;
    }
    return signalfd(-1, &set, flags);
}

#endif
