// The list of events behind a recording.
#ifndef RECORDING_LOG_H
#define RECORDING_LOG_H

#include "recording_vfs.h"

// The recording whose directory holds `path`, and the file's name there; NULL when there is none.
recording *recording_of(const char *path, const char **name);

// Copies `bytes`. A test that runs out of memory is of no use, so that ends the process.
void recording_append(
    recording *recording, recording_kind kind, const char *name, int64_t offset, int64_t value, const void *bytes,
    size_t count);

// Whether this sync of the file is the one that is to fail.
int recording_takes_fault(recording *recording, const char *name);

#endif
