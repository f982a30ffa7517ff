#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

#include "log.h"

// What SQLite takes for the file. The default VFS keeps its own behind it.
typedef struct {
    sqlite3_file base;
    recording *log;
    // Points into the path that SQLite keeps as long as the handle.
    const char *name;
    // The next sync takes the directory with it.
    int syncs_directory;
    sqlite3_file *real;
} file;

static sqlite3_vfs *real_vfs;

static sqlite3_file *real_of(sqlite3_file *f) {
    return ((file *)f)->real;
}

// A change is written down once it has happened.
static int record(
    int code, sqlite3_file *f, recording_kind kind, int64_t offset, int64_t value, const void *bytes, int n) {
    file *self = (file *)f;
    if (code == SQLITE_OK) recording_append(self->log, kind, self->name, offset, value, bytes, (size_t)n);
    return code;
}

static int file_write(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 offset) {
    int code = real_of(f)->pMethods->xWrite(real_of(f), bytes, n, offset);
    return record(code, f, recording_write, offset, 0, bytes, n);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size) {
    int code = real_of(f)->pMethods->xTruncate(real_of(f), size);
    return record(code, f, recording_truncate, size, 0, NULL, 0);
}

static int file_sync(sqlite3_file *f, int flags) {
    file *self = (file *)f;
    if (recording_takes_fault(self->log, self->name)) {
        recording_append(self->log, recording_sync_failed, self->name, 0, 0, NULL, 0);
        return SQLITE_IOERR_FSYNC;
    }
    int code = self->real->pMethods->xSync(self->real, flags);
    code = record(code, f, recording_sync, 0, self->syncs_directory, NULL, 0);
    if (code == SQLITE_OK) self->syncs_directory = 0;
    return code;
}

static int file_close(sqlite3_file *f) {
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int file_read(sqlite3_file *f, void *bytes, int n, sqlite3_int64 offset) {
    return real_of(f)->pMethods->xRead(real_of(f), bytes, n, offset);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size) {
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int file_lock(sqlite3_file *f, int level) {
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int file_unlock(sqlite3_file *f, int level) {
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int file_check_reserved_lock(sqlite3_file *f, int *result) {
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), result);
}

static int file_control(sqlite3_file *f, int operation, void *argument) {
    return real_of(f)->pMethods->xFileControl(real_of(f), operation, argument);
}

static int file_sector_size(sqlite3_file *f) {
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int file_characteristics(sqlite3_file *f) {
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **memory) {
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, memory);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags) {
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f) {
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int file_shm_unmap(sqlite3_file *f, int delete) {
    return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

// Version 2: without xFetch nothing is mapped, so every write comes through file_write.
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out) {
    (void)vfs;
    const char *name;
    recording *log = recording_of(path, &name);
    // A file that nobody records gets the real handle itself: `f` has room for it.
    if (log == NULL) return real_vfs->xOpen(real_vfs, path, f, flags, out);
    file *self = (file *)f;
    int exists = 0;
    real_vfs->xAccess(real_vfs, path, SQLITE_ACCESS_EXISTS, &exists);
    memset(self, 0, sizeof *self);
    self->log = log;
    self->name = name;
    self->real = (sqlite3_file *)(self + 1);
    self->syncs_directory =
        (flags & SQLITE_OPEN_CREATE) != 0
        && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0;
    int code = real_vfs->xOpen(real_vfs, path, self->real, flags, out);
    if (self->real->pMethods != NULL) self->base.pMethods = &methods;
    return record(code, f, recording_open, 0, !exists, NULL, 0);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs_directory) {
    (void)vfs;
    const char *name;
    recording *log = recording_of(path, &name);
    int code = real_vfs->xDelete(real_vfs, path, syncs_directory);
    if (code == SQLITE_OK && log != NULL) {
        recording_append(log, recording_delete, name, 0, syncs_directory, NULL, 0);
    }
    return code;
}

static int installed = SQLITE_ERROR;

static void install(void) {
    static sqlite3_vfs vfs;
    sqlite3_vfs *found = sqlite3_vfs_find(NULL);
    if (found == NULL) return;
    // What is not replaced here stays the default's own, which never looks at the VFS that it is called with.
    vfs = *found;
    vfs.szOsFile = (int)sizeof(file) + found->szOsFile;
    vfs.zName = "recording";
    vfs.pNext = NULL;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    real_vfs = found;
    installed = sqlite3_vfs_register(&vfs, 1);
}

int recording_vfs_install(void) {
    // Tests run side by side: a second installation would find this VFS as the real one.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    return installed;
}
