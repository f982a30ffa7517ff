// The least that a drain can cost: reads every row, compresses the bytes that beekond sent, posts ready bodies. And what it
// costs besides not to lose any: for each batch, its rows are deleted and the next one is stored, in one commit at FULL.
// Usage: drain DATABASE BODIES URL; BODIES as peers/sink.c writes them. Prints seconds for each part: wall, then CPU.
#include "database.h"

#include <curl/curl.h>
#include <stdint.h>
#include <time.h>
#include <zlib.h>

struct body {
    size_t size, plain_size;
    unsigned char *bytes, *plain;
};

static struct body *bodies;
static size_t count;
static struct { sqlite3_int64 ts, seq; } *keys;
static size_t row_count;
static volatile double sum;

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    uint32_t size;
    while (file != NULL && fread(&size, sizeof size, 1, file) == 1) {
        bodies = realloc(bodies, (count + 1) * sizeof *bodies);
        struct body *body = &bodies[count++];
        body->size = size;
        body->bytes = malloc(size);
        body->plain = malloc(4 << 20);
        if (fread(body->bytes, 1, size, file) != size) {
            exit(1);
        }
        z_stream stream = {.next_in = body->bytes, .avail_in = size, .next_out = body->plain, .avail_out = 4 << 20};
        inflateInit2(&stream, 31);
        inflate(&stream, Z_FINISH);
        body->plain_size = stream.total_out;
        body->plain = realloc(body->plain, body->plain_size);
        inflateEnd(&stream);
    }
}

static void read_rows(void) {
    sqlite3_stmt *rows;
    check(sqlite3_prepare_v2(db,
        "SELECT ts, seq, session, id, lat, lng, accuracy, speed, bearing, altitude, mode, \"trigger\", motion, activity,"
        " quality, is_mock, extras, odometer FROM locations ORDER BY ts, seq", -1, &rows, NULL));
    while (sqlite3_step(rows) == SQLITE_ROW) {
        if (row_count % 4096 == 0) {
            keys = realloc(keys, (row_count + 4096) * sizeof *keys);
        }
        keys[row_count].ts = sqlite3_column_int64(rows, 0);
        keys[row_count++].seq = sqlite3_column_int64(rows, 1);
        for (int column = 0; column < 18; column++) {
            sum += column == 3 ? sqlite3_column_bytes(rows, column) : sqlite3_column_double(rows, column);
        }
    }
    sqlite3_finalize(rows);
}

static void compress_all(void) {
    static unsigned char room[8 << 20];
    z_stream stream = {0};
    deflateInit2(&stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    for (size_t index = 0; index < count; index++) {
        deflateReset(&stream);
        stream.next_in = bodies[index].plain;
        stream.avail_in = (unsigned)bodies[index].plain_size;
        stream.next_out = room;
        stream.avail_out = sizeof room;
        deflate(&stream, Z_FINISH);
    }
    deflateEnd(&stream);
}

static size_t discard(char *bytes, size_t size, size_t number, void *context) {
    (void)bytes, (void)context;
    return size * number;
}

static void post_all(const char *url) {
    CURL *handle = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Content-Encoding: gzip");
    headers = curl_slist_append(headers, "Expect:");
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, discard);
    for (size_t index = 0; index < count; index++) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)bodies[index].size);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, bodies[index].bytes);
        if (curl_easy_perform(handle) != CURLE_OK) {
            fprintf(stderr, "drain: a POST failed\n");
            exit(1);
        }
    }
    curl_easy_cleanup(handle);
}

static void settle_all(void) {
    sqlite3_stmt *delete_rows, *delete_batch, *insert_batch;
    check(sqlite3_exec(db, "PRAGMA synchronous = FULL", NULL, NULL, NULL));
    check(sqlite3_prepare_v2(db, "DELETE FROM locations WHERE (ts, seq) <= (?, ?)", -1, &delete_rows, NULL));
    check(sqlite3_prepare_v2(db, "DELETE FROM batches", -1, &delete_batch, NULL));
    check(sqlite3_prepare_v2(db,
        "INSERT INTO batches (destination, id, session, extras, first_ts, first_seq, last_ts, last_seq, body)"
        " VALUES ('main', zeroblob(16), 1, 0, 0, 0, 0, 0, ?)", -1, &insert_batch, NULL));
    size_t size = (row_count + count - 1) / count;
    for (size_t index = 0; index < count; index++) {
        size_t last = (index + 1) * size < row_count ? (index + 1) * size - 1 : row_count - 1;
        step(begin);
        sqlite3_bind_int64(delete_rows, 1, keys[last].ts);
        sqlite3_bind_int64(delete_rows, 2, keys[last].seq);
        step(delete_rows);
        step(delete_batch);
        sqlite3_bind_blob(insert_batch, 1, bodies[index].bytes, (int)bodies[index].size, SQLITE_STATIC);
        step(insert_batch);
        step(commit);
        fold_in();
    }
}

int main(int number, char **arguments) {
    if (number != 4) {
        return 2;
    }
    load(arguments[2]);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    open_database(arguments[1], 0);
    double moments[5][2];
    for (int part = 0; part < 5; part++) {
        moments[part][0] = seconds(CLOCK_MONOTONIC);
        moments[part][1] = seconds(CLOCK_PROCESS_CPUTIME_ID);
        switch (part) {
        case 0: read_rows(); break;
        case 1: compress_all(); break;
        case 2: post_all(arguments[3]); break;
        case 3: settle_all(); break;
        }
    }
    for (int part = 0; part < 4; part++) {
        printf("%.6f %.6f\n", moments[part + 1][0] - moments[part][0], moments[part + 1][1] - moments[part][1]);
    }
    return 0;
}
