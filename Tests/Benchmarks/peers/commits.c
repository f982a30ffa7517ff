// The same INSERT alone: how long each commit takes, in nanoseconds, a line each.
// Usage: commits DATABASE normal|full WARM_UP COUNT PER_SECOND; PER_SECOND 0 is as fast as it goes
#include "database.h"

#include <poll.h>
#include <time.h>

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 6) {
        return 2;
    }
    open_database(arguments[1], strcmp(arguments[2], "full") == 0);
    long warm_up = atol(arguments[3]), commits = warm_up + atol(arguments[4]);
    double rate = atof(arguments[5]);
    long long *times = calloc((size_t)commits, sizeof *times);
    for (long index = 0; index < commits; index++) {
        double angle = (double)index / 1e5;
        struct place place = {47 + angle, 8 + angle, 4.2, 13.5, 271.25, 431.2};
        long long started = now();
        store(1800001000000LL + index * 1000, &place);
        times[index] = now() - started;
        if (rate > 0 && index >= warm_up) {
            int rest = (int)(1000 / rate - (double)times[index] / 1e6);
            poll(NULL, 0, rest > 0 ? rest : 0);
        }
    }
    for (long index = warm_up; index < commits; index++) {
        printf("%lld\n", times[index]);
    }
    return 0;
}
