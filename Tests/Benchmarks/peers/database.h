// The INSERT of beekond in C: the same table, pragmas and transaction. Only what every program needs for it.
#ifndef DATABASE_H
#define DATABASE_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;
static sqlite3_stmt *begin, *insert, *commit;
static int log_pages;

static void check(int code) {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        fprintf(stderr, "peer: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
}

static int count_pages(void *context, sqlite3 *handle, const char *name, int pages) {
    (void)context, (void)handle, (void)name;
    log_pages = pages;
    return SQLITE_OK;
}

static void open_database(const char *path, int is_full) {
    check(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    check(sqlite3_exec(db,
        "PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -512;"
        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = 0;",
        NULL, NULL, NULL));
    check(sqlite3_exec(db, is_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL", NULL, NULL, NULL));
    sqlite3_wal_hook(db, count_pages, NULL);
    check(sqlite3_prepare_v3(db, "BEGIN IMMEDIATE", -1, SQLITE_PREPARE_PERSISTENT, &begin, NULL));
    check(sqlite3_prepare_v3(db, "COMMIT", -1, SQLITE_PREPARE_PERSISTENT, &commit, NULL));
    check(sqlite3_prepare_v3(db,
        "INSERT INTO locations (ts, seq, session, id, lat, lng, accuracy, speed, bearing, altitude, mode, \"trigger\","
        " motion, activity, quality, is_mock, extras, odometer) VALUES (?,?,1,?,?,?,?,?,?,?,3,0,1,NULL,NULL,0,0,?)",
        -1, SQLITE_PREPARE_PERSISTENT, &insert, NULL));
}

static void step(sqlite3_stmt *statement) {
    check(sqlite3_step(statement));
    check(sqlite3_reset(statement));
}

static void fold_in(void) {
    if (log_pages >= 2000) {
        check(sqlite3_exec(db, "PRAGMA wal_checkpoint(PASSIVE)", NULL, NULL, NULL));
        log_pages = 0;
    }
}

struct place {
    double latitude, longitude, accuracy, speed, bearing, altitude;
};

static inline void store(long long ts, const struct place *place) {
    static long long sequence = 1000000;
    static unsigned char id[16] = {1, 2, 3, 4, 5, 6, 0x70};
    sequence++;
    memcpy(id + 8, &sequence, sizeof sequence);
    step(begin);
    sqlite3_bind_int64(insert, 1, ts);
    sqlite3_bind_int64(insert, 2, sequence);
    sqlite3_bind_blob(insert, 3, id, sizeof id, SQLITE_TRANSIENT);
    const double *values = &place->latitude;
    for (int index = 0; index < 6; index++) {
        sqlite3_bind_double(insert, 4 + index, values[index]);
    }
    sqlite3_bind_double(insert, 10, (double)sequence);
    step(insert);
    step(commit);
    fold_in();
}

#endif
