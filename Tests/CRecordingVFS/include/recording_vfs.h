// A VFS of SQLite, for tests only, that passes everything on to the default one and writes down, in order, each call
// that changes what is on the disk.
#ifndef RECORDING_VFS_H
#define RECORDING_VFS_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    // A handle was opened; `value` is 1 when that made the file.
    recording_open,
    recording_write,
    // `offset` is the new size.
    recording_truncate,
    // The data of the file. `value` is 1 when SQLite syncs the directory with it: it does so at the first sync of a
    // handle of a WAL or a journal (UNIXFILE_DIRSYNC in os_unix.c), and not for the database itself.
    recording_sync,
    // The device failed: what had been written since the sync before may be there or not, and no later sync tells.
    recording_sync_failed,
    // `value` is 1 when the directory is synced with it.
    recording_delete,
    // Set by the workload; `value` is its number.
    recording_mark,
} recording_kind;

typedef struct {
    recording_kind kind;
    // The file's name without its directory; empty for a mark.
    const char *name;
    int64_t offset;
    int64_t value;
    // What was written; valid as long as the recording.
    const void *bytes;
    size_t count;
} recording_event;

typedef struct recording recording;

// Makes the VFS the default one, once in a process. Returns a result code of SQLite.
int recording_vfs_install(void);

// Records what happens to files directly in `directory` (as it is spelt when they are opened), until it is freed.
// Every connection to them must be closed by then. NULL when memory is short.
recording *recording_begin(const char *directory);
void recording_free(recording *recording);

void recording_set_mark(recording *recording, int64_t number);
// The `number`-th sync from now on of the file of this name fails; 0: none does any more.
void recording_fail_sync(recording *recording, const char *name, int number);
size_t recording_count(recording *recording);
recording_event recording_event_at(recording *recording, size_t index);

// Bytes that SQLite holds and the calling thread has allocated, less those that it has freed for others. Every program that has
// this VFS counts them.
int64_t sqlite_memory_held(void);

#endif
