// Sends requests that were made before, and tells how long each took. One thread and epoll, so that it leaves as much as
// possible of a machine that it shares with the server.
//
//   generator closed PORT FILE CONNECTIONS         each connection sends its next as soon as it is answered
//   generator open PORT FILE CONNECTIONS RATE      RATE requests a second, at moments that do not wait for answers
//   generator herd PORT FILE                       each request from a connection of its own, all at once: connect, post,
//                                                  close; who is refused or cut off comes again, as Retry-After says
//
// FILE has requests, each after its length (4 bytes, little-endian). Prints a JSON object: answers of 2xx, of 503 and of
// anything else, connections that failed, seconds, seconds of CPU, and latencies in milliseconds: since the moment at which a
// request was due, whatever it had to wait for.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 4096, NONE = -1 };
// Seconds: after as many without an answer it is one that failed; a vehicle gives up after 60.
static const double patience = 60;

struct link {
    int socket;
    // Of the request that it carries; NONE while it has nothing to do.
    long index;
    size_t sent, have;
    // When to come again; 0: it is not waiting for that.
    double again;
    char answer[ROOM];
};

static int port, poll_;
static size_t count;
static const char **requests;
static uint32_t *lengths;
// When each was due, and then how long it took.
static double *dues, *latencies;
static long good, busy, other, broken, done;
static struct link *links;
static long connections;
static int isHerd;
// When links are to be looked through again.
static double soonest;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(71);
}

static void hang_up(struct link *link) {
    if (link->socket >= 0) close(link->socket);
    link->socket = -1;
}

static void dial(struct link *link) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int yes = 1;
    link->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (link->socket < 0) fail("socket");
    setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // From many addresses, as vehicles are; one has ports for three herds only.
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000100 + (uint32_t)((link - links) % 200))};
    if (isHerd) {
        setsockopt(link->socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
        bind(link->socket, (struct sockaddr *)&own, sizeof own);
    }
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = link};
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, link->socket, &event)) fail("epoll_ctl");
    // A refusal arrives as an event.
    if (connect(link->socket, (struct sockaddr *)&address, sizeof address) && errno != EINPROGRESS) fail("connect");
}

// Sends what is left of the request.
static void push(struct link *link) {
    while (link->sent < lengths[link->index]) {
        ssize_t put = send(link->socket, requests[link->index] + link->sent, lengths[link->index] - link->sent, MSG_NOSIGNAL);
        if (put <= 0) return;
        link->sent += (size_t)put;
    }
}

static void begin(struct link *link, long index, double due) {
    link->index = index;
    link->sent = link->have = 0;
    link->again = 0;
    dues[index] = due;
    if (link->socket < 0) dial(link);
    push(link);
}

static void end(struct link *link) {
    latencies[link->index] = now() - dues[link->index];
    done++;
    link->index = NONE;
    if (isHerd) hang_up(link);
}

// Once more, after as many seconds.
static void repeat(struct link *link, double seconds) {
    hang_up(link);
    link->again = now() + seconds;
    if (link->again < soonest) soonest = link->again;
}

// The connection is gone, and the answer with it.
static void lose(struct link *link) {
    hang_up(link);
    if (link->index == NONE) return;
    broken++;
    if (isHerd && now() - dues[link->index] < patience) return repeat(link, 0.5 + drand48());
    other++;
    end(link);
}

static void take(struct link *link) {
    for (;;) {
        ssize_t got = recv(link->socket, link->answer + link->have, ROOM - 1 - link->have, 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) return lose(link);
        link->have += (size_t)got;
        link->answer[link->have] = 0;
        char *body = strstr(link->answer, "\r\n\r\n"), *length = strcasestr(link->answer, "content-length:");
        int status = body ? atoi(link->answer + 9) : 0;
        // 204 is without a body.
        if (status != 204 && (!body || !length || link->have < (size_t)(body + 4 - link->answer) + strtoul(length + 15, NULL, 10))) {
            if (link->have == ROOM - 1) return lose(link);
            continue;
        }
        char *after = strcasestr(link->answer, "retry-after:"), *close = strcasestr(link->answer, "connection: close");
        if (status == 503 && isHerd && now() - dues[link->index] < patience) {
            busy++;
            return repeat(link, after ? strtod(after + 12, NULL) : 1);
        }
        if (status / 100 == 2) good++;
        else if (status == 503) busy++;
        else other++;
        if (status / 100 != 2 && status != 503) fprintf(stderr, "%s\n", link->answer);
        end(link);
        if (close) hang_up(link);
        return;
    }
}

static void read_requests(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) || status.st_size == 0) fail(path);
    const char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (bytes == MAP_FAILED) fail("mmap");
    for (const char *at = bytes; at < bytes + status.st_size; count++) {
        if (count % 1024 == 0) {
            requests = realloc(requests, (count + 1024) * sizeof *requests);
            lengths = realloc(lengths, (count + 1024) * sizeof *lengths);
            if (!requests || !lengths) fail("realloc");
        }
        memcpy(&lengths[count], at, 4);
        requests[count] = at + 4;
        at += 4 + lengths[count];
    }
    dues = calloc(count, sizeof *dues);
    latencies = calloc(count, sizeof *latencies);
    if (!dues || !latencies) fail("calloc");
}

// Gives work to connections that have none, and dials again where it is time.
static void hand_out(double began, double rate) {
    static size_t next;
    double time = now();
    soonest = time + 1;
    for (long each = 0; each < connections; each++) {
        struct link *link = &links[each];
        if (link->again > 0) {
            if (link->again <= time) {
                begin(link, link->index, dues[link->index]);
            } else if (link->again < soonest) {
                soonest = link->again;
            }
        } else if (link->index != NONE) {
            if (time - dues[link->index] > patience) lose(link);
        } else if (next < count) {
            double due = rate > 0 ? began + (double)next / rate : time;
            if (due > time) {
                if (due < soonest) soonest = due;
                return;
            }
            begin(link, (long)next++, isHerd ? began : due);
        }
    }
}

static void run(double rate) {
    struct epoll_event events[512];
    double began = now();
    while (done < (long)count) {
        // A herd has 10,000 links: they are looked through only when one of them may have waited long enough.
        if (!isHerd || now() >= soonest) hand_out(began, rate);
        double wait = soonest - now();
        if (wait < 0) wait = 0;
        struct timespec time = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
        int ready = epoll_pwait2(poll_, events, 512, &time, NULL);
        for (int each = 0; each < ready; each++) {
            struct link *link = events[each].data.ptr;
            if (link->socket < 0) continue;
            if (link->index != NONE) push(link);
            if (events[each].events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) {
                if (link->index == NONE) hang_up(link);
                else take(link);
            }
        }
    }
}

static int order(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    isHerd = strcmp(argv[1], "herd") == 0;
    int isOpen = strcmp(argv[1], "open") == 0;
    if (argc != (isHerd ? 4 : isOpen ? 6 : 5)) return 64;
    port = atoi(argv[2]);
    read_requests(argv[3]);
    connections = isHerd ? (long)count : atol(argv[4]);
    struct rlimit files = {(rlim_t)connections + 64, (rlim_t)connections + 64}, limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) fail("getrlimit");
    if (limit.rlim_max > files.rlim_max) files.rlim_max = limit.rlim_max;
    if (limit.rlim_cur < files.rlim_cur && setrlimit(RLIMIT_NOFILE, &files)) fail("more open files");
    links = calloc((size_t)connections, sizeof *links);
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    if (!links || poll_ < 0) fail("epoll_create1");
    for (long each = 0; each < connections; each++) links[each] = (struct link){.socket = -1, .index = NONE};
    double began = now();
    run(isOpen ? atof(argv[5]) : 0);
    double seconds = now() - began;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    qsort(latencies, count, sizeof *latencies, order);
    printf("{\"good\": %ld, \"busy\": %ld, \"other\": %ld, \"broken\": %ld, \"seconds\": %.4f, \"cpu\": %.4f, "
           "\"p50\": %.2f, \"p99\": %.2f, \"max\": %.2f}\n",
           good, busy, other, broken, seconds,
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
           latencies[count / 2] * 1e3, latencies[count * 99 / 100] * 1e3, latencies[count - 1] * 1e3);
    return 0;
}
