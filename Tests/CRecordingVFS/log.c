#include "log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct recording {
    char *directory;
    recording_event *events;
    size_t count;
    size_t capacity;
    char *failing_name;
    int syncs_until_failure;
    recording *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static recording *recordings;

static void *need(void *memory) {
    if (memory == NULL) abort();
    return memory;
}

recording *recording_begin(const char *directory) {
    recording *self = need(calloc(1, sizeof *self));
    self->directory = need(strdup(directory));
    pthread_mutex_lock(&lock);
    self->next = recordings;
    recordings = self;
    pthread_mutex_unlock(&lock);
    return self;
}

void recording_free(recording *self) {
    pthread_mutex_lock(&lock);
    recording **link = &recordings;
    while (*link != self) link = &(*link)->next;
    *link = self->next;
    pthread_mutex_unlock(&lock);
    for (size_t index = 0; index < self->count; index++) {
        free((void *)self->events[index].name);
        free((void *)self->events[index].bytes);
    }
    free(self->events);
    free(self->failing_name);
    free(self->directory);
    free(self);
}

recording *recording_of(const char *path, const char **name) {
    const char *slash = path == NULL ? NULL : strrchr(path, '/');
    if (slash == NULL) return NULL;
    size_t length = (size_t)(slash - path);
    pthread_mutex_lock(&lock);
    recording *found = recordings;
    while (found != NULL && (strlen(found->directory) != length || memcmp(found->directory, path, length) != 0)) {
        found = found->next;
    }
    pthread_mutex_unlock(&lock);
    *name = slash + 1;
    return found;
}

void recording_append(
    recording *self, recording_kind kind, const char *name, int64_t offset, int64_t value, const void *bytes,
    size_t count) {
    void *copy = NULL;
    if (count > 0) copy = memcpy(need(malloc(count)), bytes, count);
    char *own = need(strdup(name));
    pthread_mutex_lock(&lock);
    if (self->count == self->capacity) {
        self->capacity = self->capacity == 0 ? 1024 : 2 * self->capacity;
        self->events = need(realloc(self->events, self->capacity * sizeof *self->events));
    }
    self->events[self->count++] = (recording_event){
        .kind = kind, .name = own, .offset = offset, .value = value, .bytes = copy, .count = count};
    pthread_mutex_unlock(&lock);
}

void recording_set_mark(recording *self, int64_t number) {
    recording_append(self, recording_mark, "", 0, number, NULL, 0);
}

size_t recording_count(recording *self) {
    pthread_mutex_lock(&lock);
    size_t count = self->count;
    pthread_mutex_unlock(&lock);
    return count;
}

recording_event recording_event_at(recording *self, size_t index) {
    pthread_mutex_lock(&lock);
    recording_event event = self->events[index];
    pthread_mutex_unlock(&lock);
    return event;
}

void recording_fail_sync(recording *self, const char *name, int number) {
    char *own = need(strdup(name));
    pthread_mutex_lock(&lock);
    free(self->failing_name);
    self->failing_name = own;
    self->syncs_until_failure = number;
    pthread_mutex_unlock(&lock);
}

int recording_takes_fault(recording *self, const char *name) {
    pthread_mutex_lock(&lock);
    int fails = self->syncs_until_failure > 0 && strcmp(self->failing_name, name) == 0
        && --self->syncs_until_failure == 0;
    pthread_mutex_unlock(&lock);
    return fails;
}
