// All that Swift sees of libnats, the client of NATS.
#ifndef CNATS_SHIM_H
#define CNATS_SHIM_H

#include <nats/nats.h>

// Headers of messages are of 3.0; tested with 3.4 (Debian 12).
#if NATS_VERSION_NUMBER < 0x030400
#error "beekon-server needs libnats 3.4 or newer"
#endif

#endif
