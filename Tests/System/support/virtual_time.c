// Virtual time for the processes of one test: clocks that stand still until the test moves them, and waits that end by them.
//
// Preloaded into every program under test, and loaded by the test itself for the threads of its servers. All share one page:
// the clocks, and a slot for each thread. A thread that waits looks at its descriptors, writes down until when it waits and
// which generation it has seen, and sleeps on the descriptors and a FIFO of its own. The test raises the generation and rings
// every FIFO; once each thread waits at that generation, and none has returned from a wait since, all rest, and the clocks
// may go on to the nearest deadline (virtual_time.py).
#define _GNU_SOURCE
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 256, MACHINES = 64, SECOND = 1000000000 };
#define NEVER INT64_MAX

enum state { FREE, RUNNING, WAITING };

struct slot {
    _Atomic int32_t state, process;
    // Nanoseconds of the monotonic clock; NEVER: only a descriptor ends the wait.
    _Atomic int64_t deadline;
    // The generation at which it last found nothing ready.
    _Atomic int64_t seen;
    // Waits that have ended.
    _Atomic int64_t returns;
    // Random numbers drawn, and the number that decides which: of a program, as the test counts them, and of its threads, each
    // by their creation.
    _Atomic int64_t draws;
    int64_t serial;
    int64_t spare[2];
};

// The clocks of a machine, as far as they are not those of all.
struct machine {
    // Nanoseconds: by how much its system clock is wrong, and how long it has been suspended.
    _Atomic int64_t wrong, suspended;
    // What adjtimex(2) says of the system clock: 1 synchronised, 0 not.
    _Atomic int64_t synchronised;
    int64_t spare;
};

struct page {
    // Nanoseconds. They stand still.
    _Atomic int64_t monotonic, boot, real;
    _Atomic int64_t generation;
    // Of all random numbers; 0: those of the kernel.
    int64_t seed;
    // Slots ever claimed.
    _Atomic int64_t claimed;
    // The process whose calls that change a file or send are counted, how often it has made one, and which kills it, before it
    // is made; 0: none.
    _Atomic int64_t victim, calls, fatal;
    // What becomes of names that no file of hosts has: 0, nobody knows them; 1, nobody answers.
    _Atomic int64_t resolver;
    int64_t spare[6];
    struct machine machines[MACHINES];
    struct slot slots[SLOTS];
};

static struct page *page;
static struct machine *machine;
static char folder[200];
// A FIFO into which whoever begins to wait writes a byte.
static int resting = -1;
static pthread_key_t key;
static __thread struct slot *mine;
static __thread int bell = -1;
// The number of this program, and of the next of its threads.
static int64_t program;
static _Atomic int64_t threads;

// The kernel, also before this library is initialised and where the C library's function is replaced here.
static long kernel(long number, long a, long b, long c, long d, long e, long f) {
    long result;
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                  x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    result = x0;
#else
#error "no system calls for this architecture"
#endif
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static struct timespec split(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / SECOND, nanoseconds % SECOND};
}

static int64_t joined(const struct timespec *time) { return (int64_t)time->tv_sec * SECOND + time->tv_nsec; }

static int real_poll(struct pollfd *entries, nfds_t count, int64_t nanoseconds, const sigset_t *mask) {
    struct timespec time = split(nanoseconds < 0 ? 0 : nanoseconds);
    return (int)kernel(SYS_ppoll, (long)entries, (long)count, nanoseconds < 0 ? 0 : (long)&time, (long)mask, 8, 0);
}

// MARK: Slots

static struct slot *claim(void) {
    for (int index = 0; index < SLOTS; index++) {
        int32_t expected = FREE;
        struct slot *slot = &page->slots[index];
        if (atomic_compare_exchange_strong(&slot->state, &expected, RUNNING)) {
            atomic_store(&slot->process, (int32_t)kernel(SYS_getpid, 0, 0, 0, 0, 0, 0));
            atomic_store(&slot->deadline, NEVER);
            atomic_store(&slot->draws, 0);
            atomic_fetch_add(&page->claimed, 1);
            slot->serial = program * 65536 + atomic_fetch_add(&threads, 1) + 1;
            return slot;
        }
    }
    fputs("virtual time: more threads than slots\n", stderr);
    abort();
}

static void adopt(struct slot *slot) {
    char path[256];
    snprintf(path, sizeof path, "%s/bell%d", folder, (int)(slot - page->slots));
    bell = (int)kernel(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0, 0, 0);
    atomic_store(&slot->process, (int32_t)kernel(SYS_getpid, 0, 0, 0, 0, 0, 0));
    mine = slot;
    pthread_setspecific(key, slot);
}

static void leave(void *slot) {
    if (bell >= 0) {
        close(bell);
    }
    bell = -1;
    mine = NULL;
    atomic_store(&((struct slot *)slot)->state, FREE);
}

// A fork: the slot of the child is there before the child is.
static struct slot *forked;
static void before_fork(void) { forked = page != NULL ? claim() : NULL; }
static void in_child(void) {
    if (forked != NULL) {
        bell = -1;
        program = forked->serial;
        atomic_store(&threads, 0);
        adopt(forked);
    }
}

static int join(const char *path) {
    char name[256];
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(name, sizeof name, "%s/page", path);
    int file = (int)kernel(SYS_openat, AT_FDCWD, (long)name, O_RDWR | O_CLOEXEC, 0, 0, 0);
    if (file < 0) {
        return -1;
    }
    struct page *map = mmap(NULL, sizeof *map, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED) {
        return -1;
    }
    snprintf(name, sizeof name, "%s/resting", path);
    resting = (int)kernel(SYS_openat, AT_FDCWD, (long)name, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0, 0, 0);
    pthread_key_create(&key, leave);
    machine = &map->machines[0];
    page = map;
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("BEEKOND_VIRTUAL_TIME"), *number = getenv("BEEKOND_VIRTUAL_SLOT");
    // Its calls are counted from the first on.
    const char *victim = getenv("BEEKOND_VIRTUAL_FATAL");
    if (path == NULL || join(path) != 0) {
        return;
    }
    const char *which = getenv("BEEKOND_VIRTUAL_MACHINE");
    machine = &page->machines[which != NULL ? atoi(which) % MACHINES : 0];
    // Whoever started this program has claimed the slot; where it starts another one, that has to claim its own.
    int index = number != NULL ? atoi(number) : -1;
    unsetenv("BEEKOND_VIRTUAL_SLOT");
    struct slot *slot = index >= 0 && index < SLOTS ? &page->slots[index] : NULL;
    // One program may have become another (execve), which ended its threads.
    int32_t process = (int32_t)kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
    for (index = 0; index < SLOTS; index++) {
        struct slot *other = &page->slots[index];
        if (other == slot || atomic_load(&other->process) != process || atomic_load(&other->state) == FREE) {
            continue;
        }
        if (slot == NULL) {
            slot = other;
            atomic_store(&slot->state, RUNNING);
        } else {
            atomic_store(&other->state, FREE);
        }
    }
    adopt(slot != NULL ? slot : claim());
    program = mine->serial;
    pthread_atfork(before_fork, NULL, in_child);
    if (victim != NULL) {
        atomic_store(&page->calls, 0);
        atomic_store(&page->fatal, atoll(victim));
        atomic_store(&page->victim, process);
        unsetenv("BEEKOND_VIRTUAL_FATAL");
    }
}

// MARK: Clocks

static int64_t reading(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE: return atomic_load(&page->real) + atomic_load(&machine->wrong);
    case CLOCK_BOOTTIME: return atomic_load(&page->boot) + atomic_load(&machine->suspended);
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW: return atomic_load(&page->monotonic);
    default: return -1;
    }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int64_t now = page != NULL ? reading(clock) : -1;
    if (now < 0) {
        return (int)kernel(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
    }
    *time = split(now);
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result != NULL) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

int adjtimex(struct timex *state) {
    int result = (int)kernel(SYS_adjtimex, (long)state, 0, 0, 0, 0, 0);
    if (page == NULL || result < 0) {
        return result;
    }
    if (atomic_load(&machine->synchronised)) {
        state->status &= ~STA_UNSYNC;
        return TIME_OK;
    }
    state->status |= STA_UNSYNC;
    return TIME_ERROR;
}

// MARK: Waiting

// Until a descriptor is ready, or the monotonic clock has gone on by so much; negative: for ever.
static int rest(struct pollfd *entries, nfds_t count, int64_t nanoseconds, const sigset_t *mask) {
    if (mine == NULL) {
        adopt(claim());
    }
    struct slot *slot = mine;
    int64_t now = atomic_load(&page->monotonic);
    int64_t deadline = nanoseconds < 0 || nanoseconds > NEVER - now ? NEVER : now + nanoseconds;
    struct pollfd few[64], *all = count < 64 ? few : malloc((count + 1) * sizeof *all);
    int result, error = 0;
    for (;;) {
        int64_t generation = atomic_load(&page->generation);
        result = real_poll(entries, count, 0, mask);
        error = errno;
        if (result != 0 || atomic_load(&page->monotonic) >= deadline) {
            break;
        }
        atomic_store(&slot->deadline, deadline);
        atomic_store(&slot->seen, generation);
        atomic_store(&slot->state, WAITING);
        // Where it is full, the test has enough to read.
        kernel(SYS_write, resting, (long)"", 1, 0, 0, 0);
        if (count > 0) {
            memcpy(all, entries, count * sizeof *all);
        }
        all[count] = (struct pollfd){.fd = bell, .events = POLLIN};
        int found = real_poll(all, count + 1, -1, mask);
        error = errno;
        atomic_store(&slot->state, RUNNING);
        char rings[64];
        while (read(bell, rings, sizeof rings) == sizeof rings) {
        }
        if (found < 0) {
            result = -1;
            break;
        }
    }
    atomic_fetch_add(&slot->returns, 1);
    atomic_store(&slot->deadline, NEVER);
    if (all != few) {
        free(all);
    }
    errno = error;
    return result;
}

int poll(struct pollfd *entries, nfds_t count, int milliseconds) {
    int64_t nanoseconds = milliseconds < 0 ? -1 : (int64_t)milliseconds * 1000000;
    return page == NULL || milliseconds == 0 ? real_poll(entries, count, nanoseconds, NULL)
                                             : rest(entries, count, nanoseconds, NULL);
}

int __poll_chk(struct pollfd *entries, nfds_t count, int milliseconds, size_t size) {
    (void)size;
    return poll(entries, count, milliseconds);
}

int ppoll(struct pollfd *entries, nfds_t count, const struct timespec *time, const sigset_t *mask) {
    int64_t nanoseconds = time != NULL ? joined(time) : -1;
    return page == NULL || nanoseconds == 0 ? real_poll(entries, count, nanoseconds, mask)
                                            : rest(entries, count, nanoseconds, mask);
}

int epoll_pwait(int file, struct epoll_event *events, int room, int milliseconds, const sigset_t *mask) {
    if (page != NULL && milliseconds != 0) {
        struct pollfd entry = {.fd = file, .events = POLLIN};
        int found = rest(&entry, 1, milliseconds < 0 ? -1 : (int64_t)milliseconds * 1000000, mask);
        if (found <= 0) {
            return found;
        }
        milliseconds = 0;
    }
    return (int)kernel(SYS_epoll_pwait, file, (long)events, room, milliseconds, (long)mask, 8);
}

int epoll_wait(int file, struct epoll_event *events, int room, int milliseconds) {
    return epoll_pwait(file, events, room, milliseconds, NULL);
}

static int select_until(int count, fd_set *sets[3], int64_t nanoseconds, const sigset_t *mask) {
    static const short kinds[3] = {POLLIN, POLLOUT, POLLPRI};
    static const short found[3] = {POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI};
    struct pollfd entries[FD_SETSIZE];
    nfds_t used = 0;
    for (int file = 0; file < count && file < FD_SETSIZE; file++) {
        short events = 0;
        for (int set = 0; set < 3; set++) {
            if (sets[set] != NULL && FD_ISSET(file, sets[set])) {
                events |= kinds[set];
            }
        }
        if (events != 0) {
            entries[used++] = (struct pollfd){.fd = file, .events = events};
        }
    }
    int result = page == NULL || nanoseconds == 0 ? real_poll(entries, used, nanoseconds, mask)
                                                  : rest(entries, used, nanoseconds, mask);
    if (result < 0) {
        return result;
    }
    int ready = 0;
    for (int set = 0; set < 3; set++) {
        if (sets[set] == NULL) {
            continue;
        }
        FD_ZERO(sets[set]);
        for (nfds_t index = 0; index < used; index++) {
            if ((entries[index].events & kinds[set]) && (entries[index].revents & found[set])) {
                FD_SET(entries[index].fd, sets[set]);
                ready++;
            }
        }
    }
    return ready;
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *other, const struct timespec *time, const sigset_t *mask) {
    return select_until(count, (fd_set *[]){in, out, other}, time != NULL ? joined(time) : -1, mask);
}

int select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *time) {
    int64_t nanoseconds = time != NULL ? (int64_t)time->tv_sec * SECOND + (int64_t)time->tv_usec * 1000 : -1;
    return select_until(count, (fd_set *[]){in, out, other}, nanoseconds, NULL);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    int64_t now = page != NULL ? reading(clock) : -1;
    if (now < 0) {
        return kernel(SYS_clock_nanosleep, clock, flags, (long)time, (long)left, 0, 0) < 0 ? errno : 0;
    }
    int64_t nanoseconds = joined(time) - (flags & TIMER_ABSTIME ? now : 0);
    return nanoseconds > 0 && rest(NULL, 0, nanoseconds, NULL) < 0 ? errno : 0;
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = error != 0 ? error : errno;
    return error != 0 ? -1 : 0;
}

int usleep(useconds_t microseconds) {
    struct timespec time = split((int64_t)microseconds * 1000);
    return nanosleep(&time, NULL);
}

unsigned sleep(unsigned seconds) {
    struct timespec time = {seconds, 0};
    return nanosleep(&time, NULL) != 0 ? seconds : 0;
}

// MARK: Threads

struct start {
    void *(*function)(void *);
    void *argument;
    struct slot *slot;
};

static void *enter(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    adopt(start.slot);
    return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (create == NULL) {
        create = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    }
    if (page == NULL) {
        return create(thread, attributes, function, argument);
    }
    struct start *start = malloc(sizeof *start);
    *start = (struct start){function, argument, claim()};
    int error = create(thread, attributes, enter, start);
    if (error != 0) {
        atomic_store(&start->slot->state, FREE);
        free(start);
    }
    return error;
}

// MARK: Connections

// No small write waits for an acknowledgement of the one before: that takes 40 ms of real time.
static int at_once(int file) {
    int on = 1, error = errno;
    if (page != NULL && file >= 0) {
        setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    errno = error;
    return file;
}

// The file in which the ids of lines of the log are noted; NULL: they go where they go.
static const char *noted(void) { return getenv("BEEKOND_LOGGED"); }

int connect(int file, const struct sockaddr *address, socklen_t size) {
    // A journal of which the queue has room.
    if (address->sa_family == AF_UNIX && noted() != NULL &&
        strncmp(((const struct sockaddr_un *)address)->sun_path, "/run/systemd/journal/socket", size - sizeof(sa_family_t)) == 0) {
        return 0;
    }
    at_once(file);
    return (int)kernel(SYS_connect, file, (long)address, size, 0, 0, 0);
}

int accept4(int file, struct sockaddr *address, socklen_t *size, int flags) {
    return at_once((int)kernel(SYS_accept4, file, (long)address, (long)size, flags, 0, 0));
}

int accept(int file, struct sockaddr *address, socklen_t *size) { return accept4(file, address, size, 0); }

// MARK: Names

// An address in numbers, without asking anybody.
static int in_numbers(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    static int (*find)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (find == NULL) {
        find = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    }
    struct addrinfo asked = hints != NULL ? *hints : (struct addrinfo){0};
    asked.ai_flags |= page != NULL && node != NULL ? AI_NUMERICHOST : 0;
    return find(node, service, page != NULL && node != NULL ? &asked : hints, result);
}

// The first address that /etc/hosts has for a name, of the family that is wanted.
static int in_hosts(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    FILE *hosts = fopen("/etc/hosts", "re");
    char line[512];
    int error = EAI_NONAME;
    while (hosts != NULL && error != 0 && fgets(line, sizeof line, hosts) != NULL) {
        line[strcspn(line, "#\n")] = '\0';
        char *rest, *address = strtok_r(line, " \t", &rest), *name;
        while (address != NULL && error != 0 && (name = strtok_r(NULL, " \t", &rest)) != NULL) {
            if (strcasecmp(name, node) == 0) {
                error = in_numbers(address, service, hints, result);
            }
        }
    }
    if (hosts != NULL) {
        fclose(hosts);
    }
    return error;
}

// The C library would wait for a name server where nobody sees it.
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    int error = in_numbers(node, service, hints, result);
    if (page == NULL || node == NULL || error != EAI_NONAME || (hints != NULL && hints->ai_flags & AI_NUMERICHOST)) {
        return error;
    }
    error = in_hosts(node, service, hints, result);
    if (error != 0 && atomic_load(&page->resolver) != 0) {
        // As long as the C library asks its name servers, twice each.
        rest(NULL, 0, 10 * (int64_t)SECOND, NULL);
        return EAI_AGAIN;
    }
    return error;
}

// MARK: Kills by place

static void count_call(void) {
    if (page == NULL || atomic_load(&page->victim) == 0) {
        return;
    }
    long process = kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
    if (atomic_load(&page->victim) == process && atomic_fetch_add(&page->calls, 1) + 1 == atomic_load(&page->fatal)) {
        kernel(SYS_kill, process, SIGKILL, 0, 0, 0, 0);
    }
}

// What is only said is no place of its own.
static void count_write(int file) {
    if (file > STDERR_FILENO) {
        count_call();
    }
}

ssize_t write(int file, const void *bytes, size_t count) {
    count_write(file);
    return kernel(SYS_write, file, (long)bytes, (long)count, 0, 0, 0);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    count_write(file);
    return kernel(SYS_writev, file, (long)parts, count, 0, 0, 0);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) {
    count_call();
    return kernel(SYS_pwrite64, file, (long)bytes, (long)count, place, 0, 0);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) { return pwrite(file, bytes, count, place); }

int ftruncate(int file, off_t size) {
    count_call();
    return (int)kernel(SYS_ftruncate, file, size, 0, 0, 0, 0);
}

int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

int fsync(int file) {
    count_call();
    return (int)kernel(SYS_fsync, file, 0, 0, 0, 0, 0);
}

int fdatasync(int file) {
    count_call();
    return (int)kernel(SYS_fdatasync, file, 0, 0, 0, 0, 0);
}

// Only one that may make or empty a file counts.
static int open_at(int folder, const char *path, int flags, va_list list) {
    int makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    if (makes || (flags & O_TRUNC) != 0) {
        count_call();
    }
    return (int)kernel(SYS_openat, folder, (long)path, flags, makes ? va_arg(list, int) : 0, 0, 0);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int file = open_at(folder, path, flags, list);
    va_end(list);
    return file;
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int file = open_at(folder, path, flags, list);
    va_end(list);
    return file;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int file = open_at(AT_FDCWD, path, flags, list);
    va_end(list);
    return file;
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    int file = open_at(AT_FDCWD, path, flags, list);
    va_end(list);
    return file;
}

int rename(const char *old, const char *new) {
    count_call();
    return (int)kernel(SYS_renameat2, AT_FDCWD, (long)old, AT_FDCWD, (long)new, 0, 0);
}

int unlinkat(int folder, const char *path, int flags) {
    count_call();
    return (int)kernel(SYS_unlinkat, folder, (long)path, flags, 0, 0, 0);
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

ssize_t sendto(int file, const void *bytes, size_t count, int flags, const struct sockaddr *address, socklen_t size) {
    count_call();
    return kernel(SYS_sendto, file, (long)bytes, (long)count, flags, (long)address, size);
}

ssize_t send(int file, const void *bytes, size_t count, int flags) { return sendto(file, bytes, count, flags, NULL, 0); }

ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
    count_call();
    return kernel(SYS_sendmsg, file, (long)message, flags, 0, 0, 0);
}

// MARK: The log

// Notes the MESSAGE_ID of an entry for the journal, and refuses it: then the line goes to standard error, as without a journal.
int sd_journal_sendv(const struct iovec *fields, int count) {
    static const char name[] = "MESSAGE_ID=";
    const char *path = noted();
    if (path == NULL) {
        int (*next)(const struct iovec *, int) = (int (*)(const struct iovec *, int))dlsym(RTLD_NEXT, "sd_journal_sendv");
        return next != NULL ? next(fields, count) : -ENOSYS;
    }
    for (int index = 0; index < count; index++) {
        char line[33];
        if (fields[index].iov_len == sizeof name - 1 + sizeof line - 1 &&
            memcmp(fields[index].iov_base, name, sizeof name - 1) == 0) {
            memcpy(line, (const char *)fields[index].iov_base + sizeof name - 1, sizeof line - 1);
            line[sizeof line - 1] = '\n';
            int file = (int)kernel(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_APPEND | O_CLOEXEC, 0, 0, 0);
            kernel(SYS_write, file, (long)line, sizeof line, 0, 0, 0);
            kernel(SYS_close, file, 0, 0, 0, 0, 0);
        }
    }
    return -ENOENT;
}

// MARK: Random numbers

// SplitMix64 (Steele, Lea and Flood, 2014), one stream a thread.
static uint64_t drawn(void) {
    static _Atomic int64_t outside;
    uint64_t stream = mine != NULL ? (uint64_t)mine->serial : SLOTS;
    uint64_t number = (uint64_t)atomic_fetch_add(mine != NULL ? &mine->draws : &outside, 1) + 1;
    uint64_t value = (uint64_t)page->seed * 0xd1342543de82ef95u + stream * 0xa0761d6478bd642fu + number * 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

ssize_t getrandom(void *buffer, size_t count, unsigned flags) {
    if (page == NULL || page->seed == 0) {
        return kernel(SYS_getrandom, (long)buffer, (long)count, flags, 0, 0, 0);
    }
    for (size_t index = 0; index < count; index += 8) {
        uint64_t value = drawn();
        memcpy((char *)buffer + index, &value, count - index < 8 ? count - index : 8);
    }
    return (ssize_t)count;
}

int getentropy(void *buffer, size_t count) { return getrandom(buffer, count, 0) < 0 ? -1 : 0; }

// Swift draws its random numbers so.
long syscall(long number, ...) {
    va_list list;
    long words[6];
    va_start(list, number);
    for (int index = 0; index < 6; index++) {
        words[index] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_getrandom) {
        return getrandom((void *)words[0], (size_t)words[1], (unsigned)words[2]);
    }
    return kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

// MARK: For the test itself

int virtual_join(const char *path) { return join(path); }

int virtual_claim(void) { return (int)(claim() - page->slots); }

void virtual_adopt(int index) { adopt(&page->slots[index]); }

void virtual_free(int index) { atomic_store(&page->slots[index].state, FREE); }

// Negative: an error, of which this is the negated number.
int virtual_poll(struct pollfd *entries, int count, int64_t nanoseconds) {
    int64_t began = atomic_load(&page->monotonic);
    for (;;) {
        int64_t left = nanoseconds < 0 ? -1 : nanoseconds - (atomic_load(&page->monotonic) - began);
        int found = rest(entries, (nfds_t)count, nanoseconds >= 0 && left < 0 ? 0 : left, NULL);
        if (found >= 0 || errno != EINTR) {
            return found < 0 ? -errno : found;
        }
    }
}

// Begins a look: raises the generation, and rings each thread. Returns the generation.
int64_t virtual_ring(void) {
    // Of each slot the descriptor of its FIFO and one more; 0: not open yet.
    static int bells[SLOTS];
    int64_t generation = atomic_fetch_add(&page->generation, 1) + 1;
    for (int index = 0; index < SLOTS; index++) {
        if (atomic_load(&page->slots[index].state) == FREE) {
            continue;
        }
        if (bells[index] == 0) {
            char path[256];
            snprintf(path, sizeof path, "%s/bell%d", folder, index);
            bells[index] = 1 + (int)kernel(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0, 0, 0);
        }
        kernel(SYS_write, bells[index] - 1, (long)"1", 1, 0, 0, 0);
    }
    return generation;
}

static int all_rest(int64_t generation, const char *ignored) {
    for (int index = 0; index < SLOTS; index++) {
        struct slot *slot = &page->slots[index];
        int32_t state = atomic_load(&slot->state);
        if (state != FREE && (state != WAITING || atomic_load(&slot->seen) != generation) &&
            (ignored == NULL || !ignored[index])) {
            return 0;
        }
    }
    return 1;
}

// 1: each thread waits and has looked at this generation, but those whose slots are ignored (NULL: none); 0: for 5 ms nobody has
// begun to wait, or there was a signal; -1: somebody has, with `each`, and then the others are to be waited for by another call.
int virtual_rest(int64_t generation, const char *ignored, int each) {
    while (!all_rest(generation, ignored)) {
        struct pollfd entry = {.fd = resting, .events = POLLIN};
        if (real_poll(&entry, 1, 5000000, NULL) <= 0) {
            return 0;
        }
        char bytes[4096];
        while (kernel(SYS_read, resting, (long)bytes, sizeof bytes, 0, 0, 0) == sizeof bytes) {
        }
        if (each) {
            return -1;
        }
    }
    return 1;
}

int virtual_all_wait(void) {
    for (int index = 0; index < SLOTS; index++) {
        int32_t state = atomic_load(&page->slots[index].state);
        if (state != FREE && state != WAITING) {
            return 0;
        }
    }
    return 1;
}

// Grows whenever a wait ends, or a thread begins.
int64_t virtual_returns(void) {
    int64_t sum = atomic_load(&page->claimed);
    for (int index = 0; index < SLOTS; index++) {
        sum += atomic_load(&page->slots[index].returns);
    }
    return sum;
}

// The nearest; what is past is of a program that has been stopped.
int64_t virtual_next_deadline(void) {
    int64_t nearest = NEVER, now = atomic_load(&page->monotonic);
    for (int index = 0; index < SLOTS; index++) {
        int64_t deadline = atomic_load(&page->slots[index].deadline);
        if (atomic_load(&page->slots[index].state) != FREE && deadline > now && deadline < nearest) {
            nearest = deadline;
        }
    }
    return nearest;
}
