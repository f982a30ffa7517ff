internal import CLinux

/// Gives back what only the start of the process needed: free heap, and the pages of code and constants that are mapped.
///
/// Most of what a daemon has mapped after its start it never touches again: the dynamic linker's tables, the initialisers of
/// some 45 libraries, the parser of its configuration. Those pages stay in the kernel's cache, and the few that are used
/// again are mapped again at their next use, which costs a few hundred minor faults, once. Safe at any moment, on any
/// thread: nothing writable is touched.
public func releaseUnusedMemory() {
    clinux_release_unused_memory()
}

/// Makes all threads allocate from one heap; to be called before there are any.
///
/// glibc gives each thread a heap of its own, and never gives back the free end of any but the first: after a backlog had
/// been uploaded in large batches, 0.6 MB of the uploader's stayed. A few threads that mostly sleep do not contend for one.
public func useOneHeap() {
    clinux_use_one_heap()
}
