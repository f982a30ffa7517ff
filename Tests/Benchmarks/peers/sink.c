// A backend that does nothing but answer: takes every POST, one connection after the other.
// Usage: sink [FILE]; prints its port, then after each connection how many requests and bytes of body came on it.
// FILE: the bodies, each after its length (32 bits, of this machine).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}";
static char buffer[4 << 20];

// The length of the first request's head and body; 0 while its head is incomplete.
static size_t request_size(size_t filled, size_t *body) {
    char *end = memmem(buffer, filled, "\r\n\r\n", 4);
    if (end == NULL) {
        return 0;
    }
    *end = '\0';
    const char *header = strcasestr(buffer, "\r\nContent-Length:");
    *body = header != NULL ? strtoul(header + 17, NULL, 10) : 0;
    *end = '\r';
    return (size_t)(end + 4 - buffer) + *body;
}

static void serve(int client, FILE *bodies) {
    size_t filled = 0, body = 0;
    unsigned long requests = 0, bytes = 0;
    for (;;) {
        size_t size = request_size(filled, &body);
        if (size == 0 || filled < size) {
            ssize_t count = recv(client, buffer + filled, sizeof buffer - filled, 0);
            if (count <= 0) {
                break;
            }
            filled += (size_t)count;
            continue;
        }
        if (bodies != NULL) {
            uint32_t length = (uint32_t)body;
            fwrite(&length, sizeof length, 1, bodies);
            fwrite(buffer + size - body, 1, body, bodies);
            fflush(bodies);
        }
        requests++;
        bytes += body;
        memmove(buffer, buffer + size, filled - size);
        filled -= size;
        if (send(client, answer, sizeof answer - 1, MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    printf("%lu %lu\n", requests, bytes);
    fflush(stdout);
}

int main(int count, char **arguments) {
    FILE *bodies = count > 1 ? fopen(arguments[1], "wb") : NULL;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0) {
        perror("sink");
        return 1;
    }
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        int one = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        serve(client, bodies);
        close(client);
    }
}
