internal import Support

/// A file without its names, so that an open handle outlives unlink and rename: what processes read, what is durable, and the
/// changes in between, in order.
final class Inode {
    /// A write, or a change of the size.
    private struct Change {
        /// The new size, where nothing is written.
        let offset: Int
        /// nil: the size changes.
        let count: Int?
        /// Where its bytes are in `unsynced`.
        let source: Int
    }

    static let sector = 512
    /// Bytes of the unit in which space is taken.
    static let block = 4096
    /// Bytes of changes from which on the kernel writes them back by itself.
    private static let dirtyLimit = 64 << 20

    private let space: Space
    private let live: FileContent
    private let durable: FileContent
    private var changes: [Change] = []
    /// The bytes of `changes`, one write behind the other.
    private let unsynced = FileContent()
    private var names = 0
    private var handles = 0
    /// The levels of SQLite's locks, of those handles that hold one.
    private var locks: [(owner: ObjectIdentifier, level: Int32)] = []

    init(in space: Space) {
        self.space = space
        (live, durable) = (FileContent(), FileContent())
    }

    private init(in space: Space, durable: FileContent) {
        self.space = space
        self.durable = durable
        live = FileContent(copying: durable)
        space.seize(durable.count)
    }

    // MARK: Content

    var size: Int { live.count }

    /// Bytes that are not synced, and changes.
    var pending: (changes: Int, bytes: Int) { (changes.count, unsynced.count) }

    func read(into target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
        live.read(into: target, at: offset)
    }

    /// - Returns: how many bytes there was room for.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        let size = live.count
        var count = bytes.count
        if offset + count > size, !space.take(from: size, to: offset + count) {
            count = min(count, space.longest(from: size) - offset)
            guard count > 0, space.take(from: size, to: max(size, offset + count)) else { return 0 }
        }
        let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
        live.write(part, at: offset)
        changes.append(Change(offset: offset, count: count, source: unsynced.count))
        unsynced.write(part, at: unsynced.count)
        if unsynced.count > Self.dirtyLimit { sync() }
        return count
    }

    /// - Returns: whether there is room.
    func resize(to size: Int) -> Bool {
        guard space.take(from: live.count, to: size) else { return false }
        live.resize(to: size)
        changes.append(Change(offset: size, count: nil, source: 0))
        return true
    }

    // MARK: Durability

    func sync() {
        for change in changes { apply(change, to: durable) }
        forget()
    }

    /// The device has failed. The kernel takes everything for written now and will not try again; half of it never was.
    func loseSync(using random: inout SeededGenerator) {
        for change in changes where change.count == nil || !random.chance(0.5) { apply(change, to: durable) }
        forget()
    }

    private func forget() {
        changes.removeAll(keepingCapacity: true)
        unsynced.resize(to: 0)
    }

    private func bytes(_ change: Change) -> UnsafeRawBufferPointer {
        unsynced.stored(from: change.source, count: change.count ?? 0)
    }

    private func apply(_ change: Change, to content: FileContent) {
        if change.count == nil {
            content.resize(to: change.offset)
        } else {
            content.write(bytes(change), at: change.offset)
        }
    }

    /// As a power cut may leave it.
    func image(after loss: PowerLoss, in space: Space, using random: inout SeededGenerator) -> Inode {
        let content = FileContent(copying: durable)
        let cut = loss.surviving(of: changes.count, using: &random)
        for (index, change) in changes.enumerated() {
            switch loss.fate(ofChange: index, cutAt: cut, using: &random) {
            case .kept: apply(change, to: content)
            case .lost: break
            case .torn: tear(change, content, using: &random)
            case .sized:
                if let count = change.count { content.resize(to: max(content.count, change.offset + count)) }
            case .garbled: garble(change, content, using: &random)
            }
        }
        return Inode(in: space, durable: content)
    }

    /// Only the sectors before some boundary, or only those behind it, were written.
    private func tear(_ change: Change, _ content: FileContent, using random: inout SeededGenerator) {
        let bytes = bytes(change)
        guard let cut = Self.cut(of: bytes.count, at: change.offset, using: &random) else { return }
        if random.chance(0.7) {
            content.write(UnsafeRawBufferPointer(rebasing: bytes[..<cut]), at: change.offset)
        } else {
            content.write(UnsafeRawBufferPointer(rebasing: bytes[cut...]), at: change.offset + cut)
        }
    }

    /// How many of so many bytes lie before a boundary of sectors in their midst; nil when there is none.
    static func cut(of count: Int, at offset: Int, using random: inout SeededGenerator) -> Int? {
        let first = offset / sector + 1
        let end = max(first, (offset + count + sector - 1) / sector)
        return (first..<end).randomElement(using: &random).map { $0 * sector - offset }
    }

    private func garble(_ change: Change, _ content: FileContent, using random: inout SeededGenerator) {
        guard let count = change.count else { return }
        apply(change, to: content)
        let noise = (0..<(min(Self.sector, count) + 7) / 8).map { _ in random.next() }
        noise.withUnsafeBytes {
            content.write(UnsafeRawBufferPointer(rebasing: $0[..<min(Self.sector, count)]), at: change.offset)
        }
    }

    // MARK: Names and handles

    func link() { names += 1 }

    func unlink() {
        names -= 1
        releaseSpace()
    }

    func open() { handles += 1 }

    func close(_ owner: ObjectIdentifier) {
        unlock(owner, to: Lock.none)
        handles -= 1
        releaseSpace()
    }

    private func releaseSpace() {
        if names == 0, handles == 0 { _ = space.take(from: live.count, to: 0) }
    }

    /// Releases the locks of processes that have died. Their handles are closed when their objects are
    /// released.
    func outlive() {
        locks = []
    }

    // MARK: Locks

    /// SQLite's levels.
    enum Lock {
        static let none: Int32 = 0
        static let shared: Int32 = 1
        static let reserved: Int32 = 2
        static let pending: Int32 = 3
        static let exclusive: Int32 = 4
    }

    /// Whether a handle other than this holds at least this level.
    func isLocked(_ level: Int32, besides owner: ObjectIdentifier) -> Bool {
        locks.contains { $0.owner != owner && $0.level >= level }
    }

    func level(of owner: ObjectIdentifier) -> Int32 {
        locks.first { $0.owner == owner }?.level ?? Lock.none
    }

    /// - Returns: false when others are in the way. Who waits for readers to end lets no new ones in.
    func lock(_ owner: ObjectIdentifier, to level: Int32) -> Bool {
        guard self.level(of: owner) < level else { return true }
        switch level {
        case Lock.shared:
            if isLocked(Lock.pending, besides: owner) { return false }
        case Lock.reserved:
            if isLocked(Lock.reserved, besides: owner) { return false }
        default:
            if isLocked(Lock.reserved, besides: owner) { return false }
            if isLocked(Lock.shared, besides: owner) {
                set(Lock.pending, of: owner)
                return false
            }
        }
        set(level, of: owner)
        return true
    }

    func unlock(_ owner: ObjectIdentifier, to level: Int32) {
        if self.level(of: owner) > level { set(level, of: owner) }
    }

    private func set(_ level: Int32, of owner: ObjectIdentifier) {
        locks.removeAll { $0.owner == owner }
        if level > Lock.none { locks.append((owner, level)) }
    }
}

/// The space of a disk, in bytes. Holes of files count as taken.
final class Space {
    private let capacity: Int
    private(set) var used = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    var free: Int { capacity - used }

    /// How long a file of this size may become.
    func longest(from size: Int) -> Int {
        (blocks(size) + max(0, free) / Inode.block) * Inode.block
    }

    /// A file of this size is there, whether or not there is room.
    func seize(_ size: Int) {
        used += blocks(size) * Inode.block
    }

    /// A file changes its size.
    ///
    /// - Returns: false when there is no room; then nothing has changed.
    func take(from size: Int, to newSize: Int) -> Bool {
        let more = (blocks(newSize) - blocks(size)) * Inode.block
        if more > 0, more > free { return false }
        used += more
        return true
    }

    private func blocks(_ size: Int) -> Int { (size + Inode.block - 1) / Inode.block }
}
