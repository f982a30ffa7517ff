// Kernel interfaces missing from the Glibc module.
#ifndef CLINUX_H
#define CLINUX_H

#include <errno.h>
#include <linux/gpio.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

// From now on the umask, the working directory and the root of this thread are its own (unshare(2), CLONE_FS). Where that is
// forbidden, they stay those of all threads.
static inline int clinux_own_umask(void) {
    return (int)syscall(SYS_unshare, 0x200);
}

// The arguments that this program was started with, the first of which is its name. Swift's own reads them from /proc, which
// is missing in a chroot in which an image is built.
int clinux_argument_count(void);
const char *clinux_argument(int index);

// Makes all threads allocate from one heap; must be called before any thread is started.
void clinux_use_one_heap(void);

// Releases the mapped pages of code and constants of this program and its libraries, which are mapped again from the page
// cache when used.
void clinux_release_unused_code(void);

// Releases these, free heap, and unused stack.
void clinux_release_unused_memory(void);

// Releases what this thread's stack has held below its present depth, but for 16 KB.
void clinux_release_unused_stack(void);

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

// ioctl is variadic in C. How many lines a GPIO chip has; -1 if it is none.
static inline int clinux_gpio_count_lines(int chip) {
    struct gpiochip_info info;
    memset(&info, 0, sizeof info);
    return ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, &info) < 0 ? -1 : (int)info.lines;
}

// Requests a line as an input that reports its edges (uAPI v2). debounce_us 0: every edge. Returns its descriptor, or -1.
static inline int clinux_gpio_request(
    int chip, uint32_t line, int is_active_low, uint32_t debounce_us, uint32_t buffer, const char *consumer) {
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    request.offsets[0] = line;
    request.num_lines = 1;
    request.event_buffer_size = buffer;
    strncpy(request.consumer, consumer, sizeof request.consumer - 1);
    request.config.flags =
        GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING;
    if (is_active_low) {
        request.config.flags |= GPIO_V2_LINE_FLAG_ACTIVE_LOW;
    }
    if (debounce_us != 0) {
        request.config.num_attrs = 1;
        request.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_DEBOUNCE;
        request.config.attrs[0].attr.debounce_period_us = debounce_us;
        request.config.attrs[0].mask = 1;
    }
    return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) < 0 ? -1 : request.fd;
}

// The logical level of a requested line: 0 or 1, or -1.
static inline int clinux_gpio_level(int line) {
    struct gpio_v2_line_values values;
    memset(&values, 0, sizeof values);
    values.mask = 1;
    return ioctl(line, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) < 0 ? -1 : (int)(values.bits & 1);
}

// Bytes in the send queue of a TCP socket: not sent, or not acknowledged. 0 if it is no such socket.
static inline int clinux_unacknowledged_bytes(int socket) {
    int bytes = 0;
    return ioctl(socket, SIOCOUTQ, &bytes) < 0 ? 0 : bytes;
}

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
