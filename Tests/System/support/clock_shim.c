// The clocks of one process, moved by a test while it runs: preloaded, and steered through a shared file.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

struct control {
    // Nanoseconds that are added to the kernel's clocks.
    volatile int64_t realtime, boottime;
    // What adjtimex(2) says: 1 synchronised, 0 not.
    volatile int64_t synchronised;
    // What CLOCK_BOOTTIME stands still at; 0 when it goes.
    volatile int64_t frozen;
    // What the system clock stands still at, in nanoseconds; 0 when it goes.
    volatile int64_t still;
};

static const struct control *control;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("BEEKOND_TEST_CLOCK");
    int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return;
    }
    void *map = mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, file, 0);
    control = map != MAP_FAILED ? map : NULL;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (result != 0 || control == NULL) {
        return result;
    }
    int64_t offset = 0;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        offset = control->realtime;
    } else if (clock == CLOCK_BOOTTIME) {
        offset = control->boottime;
    }
    if (clock == CLOCK_BOOTTIME && control->frozen != 0) {
        time->tv_sec = control->frozen / 1000000000;
        time->tv_nsec = control->frozen % 1000000000;
        return 0;
    }
    if ((clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && control->still != 0) {
        time->tv_sec = control->still / 1000000000;
        time->tv_nsec = control->still % 1000000000;
        return 0;
    }
    int64_t moment = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + offset;
    time->tv_sec = moment / 1000000000;
    time->tv_nsec = moment % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return -1;
    }
    if (result != NULL) {
        *result = now.tv_sec;
    }
    return now.tv_sec;
}

int adjtimex(struct timex *state) {
    int result = (int)syscall(SYS_adjtimex, state);
    if (control == NULL || result < 0) {
        return result;
    }
    if (control->synchronised) {
        state->status &= ~STA_UNSYNC;
        return TIME_OK;
    }
    state->status |= STA_UNSYNC;
    return TIME_ERROR;
}
