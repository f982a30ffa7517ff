// Sends requests that were made before, over some connections, and tells how long each took.
//
//   generator PORT CONNECTIONS RATE FILE
//
// FILE has requests, each after its length (4 bytes, little-endian). RATE is requests a second over all connections, at moments
// that do not wait for answers (open loop); 0: each connection sends its next as soon as it is answered (closed loop). Prints
// one line: answers of 2xx, of 503, of anything else, seconds, and the latencies p50, p99 and greatest in milliseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

static int port;
static double rate, began;
static size_t count;
static const char **requests;
static uint32_t *lengths;
static double *latencies;
static atomic_size_t next;
static atomic_long good, busy, other;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int dial(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int link = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (link >= 0 && connect(link, (struct sockaddr *)&address, sizeof address) == 0) {
        setsockopt(link, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        return link;
    }
    if (link >= 0) close(link);
    return -1;
}

// The status; 0 when the connection broke.
static int answer(int link) {
    char room[65536];
    size_t have = 0;
    for (;;) {
        ssize_t got = recv(link, room + have, sizeof room - 1 - have, 0);
        if (got <= 0) return 0;
        have += (size_t)got;
        room[have] = 0;
        char *end = strstr(room, "\r\n\r\n"), *length = strcasestr(room, "content-length:");
        if (end && length && have >= (size_t)(end + 4 - room) + strtoul(length + 15, NULL, 10))
            return atoi(room + 9);
    }
}

static void *work(void *unused) {
    int link = -1;
    (void)unused;
    for (;;) {
        size_t index = atomic_fetch_add(&next, 1);
        if (index >= count) break;
        double start = rate > 0 ? began + (double)index / rate : now();
        for (double wait; (wait = start - now()) > 0;) {
            struct timespec time = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
            nanosleep(&time, NULL);
        }
        if (link < 0) link = dial();
        int status = 0;
        if (link >= 0) {
            size_t sent = 0;
            while (sent < lengths[index]) {
                ssize_t put = send(link, requests[index] + sent, lengths[index] - sent, MSG_NOSIGNAL);
                if (put <= 0) break;
                sent += (size_t)put;
            }
            status = answer(link);
        }
        // Since the moment at which it was due: what waits for its turn has waited, too.
        latencies[index] = now() - start;
        if (status / 100 == 2) atomic_fetch_add(&good, 1);
        else if (status == 503) atomic_fetch_add(&busy, 1);
        else {
            atomic_fetch_add(&other, 1);
            if (link >= 0) close(link);
            link = -1;
        }
    }
    if (link >= 0) close(link);
    return NULL;
}

static int order(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    if (argc != 5) return 64;
    port = atoi(argv[1]);
    int connections = atoi(argv[2]);
    rate = atof(argv[3]);
    int file = open(argv[4], O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) || status.st_size == 0) return 66;
    const char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    if (bytes == MAP_FAILED) return 71;
    for (const char *at = bytes; at < bytes + status.st_size; count++) {
        if (count % 1024 == 0) {
            requests = realloc(requests, (count + 1024) * sizeof *requests);
            lengths = realloc(lengths, (count + 1024) * sizeof *lengths);
            if (!requests || !lengths) return 71;
        }
        memcpy(&lengths[count], at, 4);
        requests[count] = at + 4;
        at += 4 + lengths[count];
    }
    latencies = calloc(count, sizeof *latencies);
    pthread_t *threads = calloc((size_t)connections, sizeof *threads);
    if (!latencies || !threads) return 71;
    began = now();
    for (int index = 0; index < connections; index++) pthread_create(&threads[index], NULL, work, NULL);
    for (int index = 0; index < connections; index++) pthread_join(threads[index], NULL);
    double seconds = now() - began;
    qsort(latencies, count, sizeof *latencies, order);
    printf("%ld %ld %ld %.3f %.1f %.1f %.1f\n", good, busy, other, seconds, latencies[count / 2] * 1e3,
           latencies[count * 99 / 100] * 1e3, latencies[count - 1] * 1e3);
    return 0;
}
