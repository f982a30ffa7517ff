import Glibc
import Support

/// The content of a file. A class over plain memory, because arrays are too slow in debug builds for what images need.
final class FileBytes {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0

    init() {}

    init(copying other: FileBytes) {
        resize(to: other.count)
        if let memory, let bytes = other.memory { memcpy(memory, bytes, count) }
    }

    deinit { free(memory) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

    /// What comes to it is zero.
    func resize(to size: Int) {
        if size > capacity {
            capacity = max(2 * capacity, size)
            memory = realloc(memory, capacity)
        }
        if let memory, size > count { memset(memory + count, 0, size - count) }
        count = size
    }

    func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        if count < offset + bytes.count { resize(to: offset + bytes.count) }
        if let memory, let source = bytes.baseAddress { memcpy(memory + offset, source, bytes.count) }
    }
}

extension FileBytes {
    func apply(_ change: Disk.Change) {
        switch change {
        case .write(let offset, let bytes): put(bytes, at: offset)
        case .truncate(let size): resize(to: size)
        }
    }

    /// Only the sectors up to some boundary, or only those behind it, were written.
    func tear(_ change: Disk.Change, using random: inout SeededGenerator) {
        guard case .write(let offset, let bytes) = change else { return }
        let sectors = (offset / 512 + 1)..<((offset + bytes.count + 511) / 512)
        guard let cut = sectors.randomElement(using: &random).map({ $0 * 512 - offset }) else { return }
        if random.chance(0.7) {
            put(UnsafeRawBufferPointer(rebasing: bytes[..<cut]), at: offset)
        } else {
            put(UnsafeRawBufferPointer(rebasing: bytes[cut...]), at: offset + cut)
        }
    }

    /// The file system recorded the new size, but never wrote the data.
    func grow(for change: Disk.Change) {
        if case .write(let offset, let bytes) = change { resize(to: max(count, offset + bytes.count)) }
    }

    /// The first sector was being written when the voltage fell.
    func garble(_ change: Disk.Change, using random: inout SeededGenerator) {
        guard case .write(let offset, let bytes) = change else { return }
        put(bytes, at: offset)
        var noise = random.next()
        for index in stride(from: 0, to: min(512, bytes.count) - 7, by: 8) {
            noise = noise &* 6_364_136_223_846_793_005 &+ 1
            withUnsafeBytes(of: noise) { put($0, at: offset + index) }
        }
    }
}
