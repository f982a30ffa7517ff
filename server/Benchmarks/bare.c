// What a database does bare: the rows of the server's locations, in transactions of a size, by COPY into PostgreSQL or by
// INSERT into SQLite.
//
//   bare copy ADDRESS TABLE ROWS FILE
//   bare insert PATH ROWS FILE
//
// FILE has rows of 98 bytes, little-endian: device, time, id, session, latitude, longitude, accuracy, speed, bearing, altitude,
// codes. ROWS is how many go into one transaction. What COPY is sent is made before the clock starts. Prints a JSON object:
// seconds, and seconds of this program's CPU.
#define _GNU_SOURCE
#include <endian.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

enum { ROW = 98, COPIED = 2 + 12 * 4 + ROW };

struct __attribute__((packed)) row {
    int64_t device, time;
    char id[16], session[16];
    double numbers[6];
    int16_t codes;
};

static struct row *rows;
static size_t count, per_transaction;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double processor(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static _Noreturn void fail(const char *what, const char *why) {
    fprintf(stderr, "bare: %s: %s\n", what, why);
    exit(71);
}

static void read_rows(const char *path) {
    struct stat status;
    FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &status)) fail(path, "cannot be read");
    count = (size_t)status.st_size / ROW;
    rows = malloc(count * ROW);
    if (!rows || fread(rows, ROW, count, file) != count) fail(path, "cannot be read");
    fclose(file);
}

static char *put(char *at, uint32_t length, const void *bytes) {
    uint32_t head = htobe32(length);
    memcpy(at, &head, 4);
    memcpy(at + 4, bytes, length);
    return at + 4 + length;
}

static char *put_number(char *at, const void *number) {
    uint64_t value;
    memcpy(&value, number, 8);
    value = htobe64(value);
    return put(at, 8, &value);
}

// One transaction's rows, in the binary format of COPY.
static size_t encode(char *at, size_t first, size_t end) {
    char *start = at;
    static const char head[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
    memcpy(at, head, 19);
    at += 19;
    for (struct row *row = rows + first; row < rows + end; row++) {
        memcpy(at, "\0\14", 2);
        at = put_number(at + 2, &row->device);
        at = put_number(at, &row->time);
        at = put(at, 16, row->id);
        at = put(at, 16, row->session);
        for (int each = 0; each < 6; each++) at = put_number(at, (char *)row + 48 + 8 * each);
        int16_t codes = (int16_t)htobe16((uint16_t)row->codes);
        at = put(at, 2, &codes);
        memset(at, 0xFF, 4);
        at += 4;
    }
    memset(at, 0xFF, 2);
    return (size_t)(at + 2 - start);
}

static void copy(const char *address, const char *table) {
    size_t groups = (count + per_transaction - 1) / per_transaction;
    char **texts = calloc(groups, sizeof *texts), command[200];
    size_t *lengths = calloc(groups, sizeof *lengths);
    for (size_t group = 0; group < groups; group++) {
        size_t first = group * per_transaction, end = first + per_transaction < count ? first + per_transaction : count;
        texts[group] = malloc((end - first) * COPIED + 32);
        if (!texts[group]) fail("malloc", "no memory");
        lengths[group] = encode(texts[group], first, end);
    }
    PGconn *link = PQconnectdb(address);
    if (PQstatus(link) != CONNECTION_OK) fail("connect", PQerrorMessage(link));
    snprintf(command, sizeof command, "COPY %s FROM STDIN (FORMAT binary)", table);
    double began = now(), used = processor();
    for (size_t group = 0; group < groups; group++) {
        PQclear(PQexec(link, command));
        if (PQputCopyData(link, texts[group], (int)lengths[group]) != 1 || PQputCopyEnd(link, NULL) != 1)
            fail("COPY", PQerrorMessage(link));
        for (PGresult *result; (result = PQgetResult(link)); PQclear(result))
            if (PQresultStatus(result) != PGRES_COMMAND_OK) fail("COPY", PQerrorMessage(link));
    }
    printf("{\"seconds\": %.4f, \"cpu\": %.4f}\n", now() - began, processor() - used);
    PQfinish(link);
}

static void insert(const char *path) {
    sqlite3 *database;
    sqlite3_stmt *statement;
    // As the server opens it.
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL)
        || sqlite3_exec(database,
                        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;"
                        "CREATE TABLE locations(device INTEGER NOT NULL, time INTEGER NOT NULL, id BLOB NOT NULL,"
                        " session BLOB NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL, accuracy REAL, speed REAL,"
                        " bearing REAL, altitude REAL, codes INTEGER NOT NULL, extras INTEGER, PRIMARY KEY(device, time, id))"
                        " STRICT, WITHOUT ROWID", NULL, NULL, NULL)
        || sqlite3_prepare_v2(database, "INSERT INTO locations VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", -1, &statement, NULL))
        fail("open", sqlite3_errmsg(database));
    double began = now(), used = processor();
    for (size_t each = 0; each < count; each++) {
        struct row *row = &rows[each];
        if (each % per_transaction == 0 && sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL))
            fail("BEGIN", sqlite3_errmsg(database));
        sqlite3_bind_int64(statement, 1, row->device);
        sqlite3_bind_int64(statement, 2, row->time);
        sqlite3_bind_blob(statement, 3, row->id, 16, SQLITE_STATIC);
        sqlite3_bind_blob(statement, 4, row->session, 16, SQLITE_STATIC);
        for (int number = 0; number < 6; number++) sqlite3_bind_double(statement, 5 + number, row->numbers[number]);
        sqlite3_bind_int64(statement, 11, row->codes);
        if (sqlite3_step(statement) != SQLITE_DONE) fail("INSERT", sqlite3_errmsg(database));
        sqlite3_reset(statement);
        if ((each + 1) % per_transaction == 0 || each + 1 == count)
            if (sqlite3_exec(database, "COMMIT", NULL, NULL, NULL)) fail("COMMIT", sqlite3_errmsg(database));
    }
    printf("{\"seconds\": %.4f, \"cpu\": %.4f}\n", now() - began, processor() - used);
    sqlite3_finalize(statement);
    sqlite3_close(database);
}

int main(int argc, char **argv) {
    int isCopy = argc == 6 && strcmp(argv[1], "copy") == 0;
    if (!isCopy && (argc != 5 || strcmp(argv[1], "insert"))) return 64;
    per_transaction = (size_t)atol(argv[argc - 2]);
    if (per_transaction == 0) return 64;
    read_rows(argv[argc - 1]);
    if (isCopy) copy(argv[2], argv[3]);
    else insert(argv[2]);
    return 0;
}
