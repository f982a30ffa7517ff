#define _GNU_SOURCE
#include "CLinux.h"

#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

static int release_object(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    (void)context;
    if (object->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) {
        return 0;  // the kernel's own, not of a file
    }
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        // Segments that were ever writable may differ from their file, e.g. by relocations.
        if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != 0) {
            continue;
        }
        uintptr_t begin = (object->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (begin < end) {
            // Fails for locked memory, which then stays.
            (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
        }
    }
    return 0;
}

void clinux_use_one_heap(void) {
    (void)mallopt(M_ARENA_MAX, 1);
}

void clinux_release_unused_stack(void) {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    void *low = NULL;
    size_t size = 0;
    (void)pthread_attr_getstack(&attributes, &low, &size);
    (void)pthread_attr_destroy(&attributes);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    // Whatever is called next, and signals, need some of it at once.
    uintptr_t end = ((uintptr_t)__builtin_frame_address(0) & ~(page - 1)) - 4 * page;
    // Nothing goes deeper than a megabyte; below that of the main thread, which grows as needed, others may map theirs.
    uintptr_t begin = end - ((uintptr_t)1 << 20);
    if (begin < (uintptr_t)low) {
        begin = (uintptr_t)low;
    }
    if (low != NULL && begin < end) {
        // Where nothing is mapped there is nothing to release.
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
}

void clinux_release_unused_code(void) {
    dl_iterate_phdr(release_object, NULL);
}

void clinux_release_unused_memory(void) {
    clinux_release_unused_stack();
    malloc_trim(0);
    clinux_release_unused_code();
}
