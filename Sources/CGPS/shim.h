// The part of libgps that Swift sees. gps_data_t is 24 KB and changes between releases, so this header exposes only
// the few values that beekond reads, flattened.
//
// beekond owns the socket and passes libgps whole lines. gps_read(3) would own it instead, but it blocks while
// connecting and on partial lines, buffers messages where poll(2) cannot see them, and never recovers from an
// overlong line.
#ifndef CGPS_SHIM_H
#define CGPS_SHIM_H

#include <gps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// 11 is gpsd 3.22 (Debian 12), 14 is 3.25 (Debian 13); the fields used below keep their names and meanings up to 16.
#if GPSD_API_MAJOR_VERSION < 11 || GPSD_API_MAJOR_VERSION > 16
#error "this release of libgps is not known to beekond: check gps_fix_t against Sources/CGPS/shim.h"
#endif

enum cgps_kind {
    CGPS_OTHER = 0,
    CGPS_VERSION,
    CGPS_DEVICES,
    CGPS_DEVICE,
    CGPS_TPV,
    CGPS_SKY
};

// Doubles are NaN and `seconds` is 0 where the receiver reported nothing. `device` points into the parser.
struct cgps_report {
    enum cgps_kind kind;
    const char *device;
    int mode;
    int status;
    long long seconds;
    long nanoseconds;
    double latitude, longitude, altitude_hae;
    double eph, epx, epy;
    double speed, track;
    int satellites_used, satellites_visible;
    int activated;
};

// Exported by libgps for gps_unpack(3), which calls it repeatedly for several messages in one text. gps_unpack itself
// must not be used: a DEVICES message with a damaged inner object resets its position, and it never returns (seen
// with gpsd 3.22); it also hides whether a message could be parsed at all.
int libgps_json_unpack(const char *line, struct gps_data_t *data, const char **end);

static inline struct gps_data_t *cgps_new(void) {
    return (struct gps_data_t *)calloc(1, sizeof(struct gps_data_t));
}

static inline void cgps_free(struct gps_data_t *data) {
    free(data);
}

// gpsd writes the class first, and the line must begin with it: libgps would find it anywhere.
static inline int cgps_begins(const char *line, const char *prefix) {
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

// Copies the text after the next `"key":"` from `*place` on, and moves `*place` past it. Returns 0 when there is none
// or it does not fit. gpsd does not escape device paths.
static inline int cgps_text(const char **place, const char *key, char *text, size_t size) {
    char name[16];
    size_t length = (size_t)snprintf(name, sizeof name, "\"%s\":\"", key);
    const char *found = length < sizeof name ? strstr(*place, name) : NULL;
    const char *end = found != NULL ? strchr(found + length, '"') : NULL;
    if (end == NULL || (size_t)(end - found) - length >= size) {
        return 0;
    }
    memcpy(text, found + length, (size_t)(end - found) - length);
    text[(size_t)(end - found) - length] = '\0';
    *place = end + 1;
    return 1;
}

static inline int cgps_count(const char *line, const char *text) {
    int count = 0;
    for (const char *found = strstr(line, text); found != NULL; found = strstr(found + 1, text)) {
        count++;
    }
    return count;
}

// Parses one NUL-terminated line. libgps keeps the values of earlier messages, so `set` is zeroed first and then
// shows what this message contained.
//
// libgps loops for ever when an object within the line is damaged or another class is named in it. Therefore it is
// only given lines that are one flat object; from all others nothing more than counts and paths is needed.
static inline int cgps_parse(struct gps_data_t *data, char *line, struct cgps_report *report) {
    memset(report, 0, sizeof *report);
    // A truncated message is worthless: libgps would take the end of the text for the end of a number and silently
    // lose digits.
    size_t length = strlen(line);
    if (length == 0 || line[length - 1] != '}') {
        return -1;
    }
    if (cgps_begins(line, "{\"class\":\"TPV\",")) {
        report->kind = CGPS_TPV;
    } else if (cgps_begins(line, "{\"class\":\"DEVICE\",")) {
        report->kind = CGPS_DEVICE;
    } else if (cgps_begins(line, "{\"class\":\"SKY\",")) {
        report->satellites_visible = cgps_count(line, "\"PRN\":");
        report->satellites_used = cgps_count(line, "\"used\":true");
        // gpsd also sends SKY reports that contain only the dilution of precision.
        report->kind = report->satellites_visible > 0 ? CGPS_SKY : CGPS_OTHER;
        const char *place = line;
        if (!cgps_text(&place, "device", data->dev.path, sizeof data->dev.path)) {
            data->dev.path[0] = '\0';
        }
        report->device = data->dev.path;
        return 0;
    } else if (cgps_begins(line, "{\"class\":\"DEVICES\",")) {
        report->kind = CGPS_DEVICES;
        return 0;
    } else {
        report->kind = cgps_begins(line, "{\"class\":\"VERSION\",") ? CGPS_VERSION : CGPS_OTHER;
        return 0;
    }
    if (strchr(line + 1, '{') != NULL || strstr(line + 2, "\"class\":") != NULL) {
        return -1;
    }
    data->set = 0;
    data->dev.path[0] = '\0';
    if (report->kind == CGPS_TPV) {
        gps_clear_fix(&data->fix);
        data->fix.time.tv_sec = 0;
        data->fix.time.tv_nsec = 0;
    }
    const char *end = NULL;
    int status = libgps_json_unpack(line, data, &end);
    // For a lost device gpsd sends "activated":0, a number where libgps expects a time and reports an error.
    int lost = report->kind == CGPS_DEVICE && strstr(line, "\"activated\":0") != NULL;
    if (status != 0 && !lost) {
        return -1;
    }
    report->activated = !lost;
    report->device = data->dev.path;
    report->mode = data->fix.mode;
    report->status = data->fix.status;
    report->seconds = (long long)data->fix.time.tv_sec;
    report->nanoseconds = data->fix.time.tv_nsec;
    report->latitude = data->fix.latitude;
    report->longitude = data->fix.longitude;
    report->altitude_hae = data->fix.altHAE;
    report->eph = data->fix.eph;
    report->epx = data->fix.epx;
    report->epy = data->fix.epy;
    report->speed = data->fix.speed;
    report->track = data->fix.track;
    return 0;
}

#endif
