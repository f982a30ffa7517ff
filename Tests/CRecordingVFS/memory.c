#include <sqlite3.h>
#include <stddef.h>

#include "recording_vfs.h"

static sqlite3_mem_methods usual;
static _Thread_local int64_t held;

static void *counted_malloc(int n) {
    void *p = usual.xMalloc(n);
    if (p != NULL) held += usual.xSize(p);
    return p;
}

static void counted_free(void *p) {
    if (p != NULL) held -= usual.xSize(p);
    usual.xFree(p);
}

static void *counted_realloc(void *p, int n) {
    int before = p == NULL ? 0 : usual.xSize(p);
    void *grown = usual.xRealloc(p, n);
    if (grown != NULL) held += usual.xSize(grown) - before;
    return grown;
}

int64_t sqlite_memory_held(void) { return held; }

// Before anything uses SQLite. What the allocations of all threads sum up to nobody asks, and the lock of that sum would make
// tests that run beside each other wait for each other at every one: each thread counts its own.
__attribute__((constructor)) static void count_by_thread(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &usual) != SQLITE_OK) return;
    sqlite3_mem_methods counted = usual;
    counted.xMalloc = counted_malloc;
    counted.xFree = counted_free;
    counted.xRealloc = counted_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}
