// What a user would write instead: libgps, and one INSERT a fix.
// Usage: insert PORT DATABASE normal|full
#include "database.h"

#include <gps.h>
#include <poll.h>

int main(int count, char **arguments) {
    struct gps_data_t data;
    if (count != 4 || gps_open("127.0.0.1", arguments[1], &data) != 0) {
        fprintf(stderr, "insert: cannot connect\n");
        return 1;
    }
    open_database(arguments[2], strcmp(arguments[3], "full") == 0);
    gps_stream(&data, WATCH_ENABLE | WATCH_JSON, NULL);
    long fixes = 0;
    long long last = 0;
    int result;
    for (data.set = 0; (result = gps_read(&data, NULL, 0)) >= 0; data.set = 0) {
        if (result == 0) {
            // Without a whole message, gps_read returns at once.
            poll(&(struct pollfd){.fd = data.gps_fd, .events = POLLIN}, 1, -1);
            continue;
        }
        const struct gps_fix_t *fix = &data.fix;
        long long ts = (long long)fix->time.tv_sec * 1000 + fix->time.tv_nsec / 1000000;
        if (!(data.set & TIME_SET) || fix->mode < MODE_2D || ts == last) {
            continue;
        }
        last = ts;
        struct place place = {fix->latitude, fix->longitude, fix->eph, fix->speed, fix->track, fix->altHAE};
        store(ts, &place);
        fixes++;
    }
    printf("%ld\n", fixes);
    return 0;
}
