// libgps alone: reads what gpsd sends, without blocking, and parses it. What any client in C pays at least.
// Usage: parse PORT
#include <fcntl.h>
#include <gps.h>
#include <poll.h>
#include <stdio.h>

int main(int count, char **arguments) {
    struct gps_data_t data;
    if (count != 2 || gps_open("127.0.0.1", arguments[1], &data) != 0) {
        fprintf(stderr, "parse: cannot connect\n");
        return 1;
    }
    gps_stream(&data, WATCH_ENABLE | WATCH_JSON, NULL);
    fcntl(data.gps_fd, F_SETFL, fcntl(data.gps_fd, F_GETFL) | O_NONBLOCK);
    struct pollfd wait = {.fd = data.gps_fd, .events = POLLIN};
    long fixes = 0;
    int result = 0;
    while (result >= 0 && poll(&wait, 1, -1) > 0) {
        do {
            data.set = 0;
            result = gps_read(&data, NULL, 0);
            fixes += result > 0 && (data.set & TIME_SET) && data.fix.mode >= MODE_2D;
        } while (result > 0);
    }
    printf("%ld\n", fixes);
    return 0;
}
