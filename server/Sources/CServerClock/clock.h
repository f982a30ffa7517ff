// What Swift sees of the clocks of Linux in the server.
#ifndef CSERVERCLOCK_CLOCK_H
#define CSERVERCLOCK_CLOCK_H

#include <sys/timex.h>

// Swift's module of glibc has no adjtimex.
static inline int cserverclock_is_synchronised(void) {
    struct timex state = {0};
    int result = adjtimex(&state);
    return result >= 0 && result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
}

#endif
