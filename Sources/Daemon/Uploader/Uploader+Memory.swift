internal import Linux
internal import Storage
internal import Upload

extension Uploader {
    /// Fixes; a drain of as many fills SQLite's cache, and leaves holes all over the heap.
    static let longDrain = 2000

    /// Gives back what a long drain took: the next may be months away.
    func releaseMemory() {
        // Its buffer has the size of the longest body.
        payload = Payload(sender: payload.sender)
        hub.store.releaseMemory()
        releaseUnusedMemory()
    }
}
