// Kernel interfaces that the Glibc module does not show to Swift.
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
    // Either is enough; a sandbox may forbid one of them.
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0);
}

// All threads allocate from one heap; to be called before there are any.
void clinux_use_one_heap(void);

// Gives back free heap, and the mapped pages of code and constants of this program and its libraries. What is used again
// is mapped again, from the kernel's page cache.
void clinux_release_unused_memory(void);

// struct ucred needs _GNU_SOURCE, which would give this module another fd_set than the Glibc module has.
struct clinux_credentials {
    int32_t pid;
    uint32_t uid;
    uint32_t gid;
};

static inline int clinux_peer_credentials(int socket, struct clinux_credentials *credentials) {
    socklen_t size = sizeof *credentials;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials, &size);
}

// The peer's supplementary groups: returns how many there are, or -1 (ERANGE: more than `limit`).
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

// These need _GNU_SOURCE, too. The numbers are those of every architecture that Swift runs on.
static const int CLINUX_O_PATH = 010000000, CLINUX_AT_EMPTY_PATH = 0x1000;

// sigset_t is filled by macros and functions that differ between libraries.
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
