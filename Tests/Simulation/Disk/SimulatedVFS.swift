internal import CSQLite
internal import Glibc
internal import Support
internal import Synchronization

/// A VFS of SQLite over a simulated disk: what one simulated process knows of its databases, with their shared memory in its own
/// heap, so that it ends with the process. Not thread-safe; it must outlive all connections that name it.
package final class SimulatedVFS {
    /// What SQLite asks of the world besides files.
    package struct Surroundings {
        /// The system time, Unix milliseconds.
        package var now: () -> Int64
        /// Lets so many microseconds pass.
        package var sleep: (Int) -> Void
        /// Fills the bytes.
        package var random: (UnsafeMutableRawBufferPointer) -> Void

        package init(
            now: @escaping () -> Int64, sleep: @escaping (Int) -> Void,
            random: @escaping (UnsafeMutableRawBufferPointer) -> Void
        ) {
            self.now = now
            self.sleep = sleep
            self.random = random
        }

        /// A time that passes only while SQLite sleeps, and numbers of a seed.
        package static func standing(seed: UInt64 = 1) -> Surroundings {
            var microseconds: Int64 = 1_700_000_000_000_000
            var generator = SeededGenerator(seed: seed)
            return Surroundings(
                now: { microseconds / 1000 }, sleep: { microseconds += Int64($0) },
                random: { bytes in
                    for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
                })
        }
    }

    /// For `sqlite3_open_v2`; no other VFS of this program has it.
    package let name: String
    let disk: SimulatedDisk
    let surroundings: Surroundings
    /// Databases, WALs and journals that SQLite has open.
    package private(set) var openHandles = 0
    /// errno of what failed last.
    private(set) var lastError: Int32 = 0
    private var memories: [ObjectIdentifier: SharedMemory] = [:]
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let cName: UnsafeMutablePointer<CChar>
    private static let instances = Atomic<Int>(0)

    /// Bytes of a path at most, with the NUL.
    static let longestPath: Int32 = 512

    /// - Throws: when SQLite does not take it.
    package init(on disk: SimulatedDisk, _ surroundings: Surroundings = .standing()) throws {
        self.disk = disk
        self.surroundings = surroundings
        name = "simulated-\(Self.instances.add(1, ordering: .relaxed).newValue)"
        vfs = .allocate(capacity: 1)
        let bytes = name.utf8CString
        cName = .allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { cName[index] = byte }
        vfs.initialize(to: Callbacks.vfs)
        vfs.pointee.mxPathname = Self.longestPath
        vfs.pointee.zName = UnsafePointer(cName)
        // Not retained: it takes itself from SQLite's list when it ends.
        vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        let code = sqlite3_vfs_register(vfs, 0)
        guard code == SQLITE_OK else { throw Refused(code: code) }
    }

    /// SQLite's code.
    private struct Refused: Error { let code: Int32 }

    deinit {
        sqlite3_vfs_unregister(vfs)
        vfs.deallocate()
        cName.deallocate()
    }

    // MARK: What its callbacks note

    func failed(_ error: Int32, _ code: Int32) -> Int32 {
        lastError = error
        return code
    }

    func opened() { openHandles += 1 }
    func closed() { openHandles -= 1 }

    // MARK: Shared memory

    /// Mappings of shared memory that are in use.
    package var sharedMemories: Int { memories.count }

    /// The one of this database, made where there is none.
    func memory(of file: SimulatedFile) -> SharedMemory {
        if let known = memories[file.identity] { return known }
        let made = SharedMemory()
        memories[file.identity] = made
        return made
    }

    func dropMemory(of file: SimulatedFile) {
        memories[file.identity] = nil
    }
}

/// The index of a WAL, which all connections of a process to one database share.
final class SharedMemory {
    /// The locks of one connection, a bit each.
    final class Claims {
        fileprivate(set) var shared: UInt32 = 0
        fileprivate(set) var exclusive: UInt32 = 0
    }

    private var regions: [UnsafeMutableRawPointer] = []
    private var claims: [Claims] = []

    deinit {
        for region in regions { region.deallocate() }
    }

    func join() -> Claims {
        let own = Claims()
        claims.append(own)
        return own
    }

    /// - Returns: whether nobody uses it any more.
    func leave(_ own: Claims) -> Bool {
        claims.removeAll { $0 === own }
        return claims.isEmpty
    }

    func has(_ region: Int) -> Bool { region < regions.count }

    /// - Parameter size: bytes of a region, the same each time.
    /// - Returns: nil when it is not there and is not to be made.
    func region(_ number: Int, size: Int, makes: Bool) -> UnsafeMutableRawPointer? {
        while makes, regions.count <= number {
            let region = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
            region.initializeMemory(as: UInt8.self, repeating: 0, count: size)
            regions.append(region)
        }
        return has(number) ? regions[number] : nil
    }

    func unlock(_ mask: UInt32, of own: Claims) {
        own.shared &= ~mask
        own.exclusive &= ~mask
    }

    /// - Returns: false when others are in the way.
    func lock(_ mask: UInt32, isExclusive: Bool, for own: Claims) -> Bool {
        let others = claims.lazy.filter { $0 !== own }
        if isExclusive {
            if others.contains(where: { ($0.shared | $0.exclusive) & mask != 0 }) { return false }
            own.exclusive |= mask
        } else {
            if others.contains(where: { $0.exclusive & mask != 0 }) { return false }
            own.shared |= mask
        }
        return true
    }
}
