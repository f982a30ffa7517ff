// The part of SQLite that Swift cannot call directly.
#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H

#include <sqlite3.h>

// Tested with 3.40 (Debian 12) and 3.46 (Debian 13). Tables are STRICT (3.37), and what is deleted is returned (3.35).
#if SQLITE_VERSION_NUMBER < 3040000
#error "beekond needs SQLite 3.40 or newer"
#endif

// SQLITE_TRANSIENT is a cast macro, which Swift cannot import; it makes SQLite copy the bytes before the call
// returns.
static inline int csqlite_bind_blob(sqlite3_stmt *s, int i, const void *bytes, int count) {
    return sqlite3_bind_blob(s, i, bytes, count, SQLITE_TRANSIENT);
}

static inline int csqlite_bind_text(sqlite3_stmt *s, int i, const char *bytes, int count) {
    return sqlite3_bind_text(s, i, bytes, count, SQLITE_TRANSIENT);
}

// Variadic in C.
static inline int csqlite_enable_defensive(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

static inline int csqlite_no_checkpoint_on_close(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Called after each commit with the number of frames in the WAL.
static inline int csqlite_note_log(void *pages, sqlite3 *db, const char *name, int count) {
    (void)db;
    (void)name;
    *(int *)pages = count;
    return SQLITE_OK;
}

static inline void csqlite_count_log(sqlite3 *db, int *pages) {
    sqlite3_wal_hook(db, csqlite_note_log, pages);
}

#endif
