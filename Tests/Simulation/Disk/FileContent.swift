internal import Glibc

/// The bytes of a file. Plain memory, because arrays cost too much in debug builds. What was never written is zero and takes
/// no memory behind the last byte that was.
final class FileContent {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    /// Bytes in memory; those of the file behind them are zero.
    private var stored = 0
    /// Bytes of the file.
    private(set) var count = 0

    init() {}

    init(copying other: FileContent) {
        if let source = other.memory {
            store(other.stored)
            if let memory { memcpy(memory, source, stored) }
        }
        count = other.count
    }

    deinit { free(memory) }

    /// Bytes in memory from `offset` on.
    func stored(from offset: Int, count: Int) -> UnsafeRawBufferPointer {
        guard let memory, offset + count <= stored else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return UnsafeRawBufferPointer(start: memory + offset, count: count)
    }

    /// What comes to it is zero.
    func resize(to size: Int) {
        stored = min(stored, size)
        count = size
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        let end = offset + bytes.count
        if end > stored { store(end) }
        if let memory { memcpy(memory + offset, source, bytes.count) }
        count = max(count, end)
    }

    /// Fills all of `target`; behind the end of the file with zeros.
    ///
    /// - Returns: how many of these bytes are the file's.
    func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        guard let place = target.baseAddress else { return 0 }
        let known = max(0, min(target.count, stored - offset))
        if known > 0, let memory { memcpy(place, memory + offset, known) }
        if known < target.count { memset(place + known, 0, target.count - known) }
        return max(0, min(target.count, count - offset))
    }

    private func store(_ end: Int) {
        if end > capacity {
            let wanted = max(2 * capacity, end)
            guard let grown = realloc(memory, wanted) else {
                fatalError("no memory for a file of \(wanted) bytes")
            }
            (memory, capacity) = (grown, wanted)
        }
        if let memory { memset(memory + stored, 0, end - stored) }
        stored = end
    }
}
