internal import CLinux

/// Releases what was needed only at start-up: free heap, and mapped pages of code and constants.
///
/// A daemon never touches most of what it has mapped at start-up again: the dynamic linker's tables, the initialisers
/// of some 45 libraries, the configuration parser. Those pages remain in the page cache, and the few that are needed
/// are mapped again on their next use, at the one-off cost of a few hundred minor faults. Safe at any time and on any
/// thread: nothing writable is touched, but for the calling thread's stack below its present depth.
package func releaseUnusedMemory() {
    clinux_release_unused_memory()
}

/// Releases what the calling thread's stack has held: a TLS handshake takes 50 KB of it.
package func releaseUnusedStack() {
    clinux_release_unused_stack()
}

/// Makes all threads allocate from one heap. Must be called before any thread is started.
///
/// glibc gives each thread an arena of its own and never returns the free end of any but the first: after a backlog
/// had been uploaded in large batches, 0.6 MB of the uploader's arena stayed resident. A few threads that mostly
/// sleep do not contend for a single arena.
package func useOneHeap() {
    clinux_use_one_heap()
}
