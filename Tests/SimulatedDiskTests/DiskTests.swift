import Glibc
import Linux
import SimulatedDisk
import Support
import Testing

/// The disk itself, without SQLite.
@Suite struct DiskTests {
    private let disk = SimulatedDisk()

    init() { disk.makeDirectory("/d") }

    private func write(_ file: SimulatedFile, _ bytes: [UInt8], at offset: Int = 0) throws {
        try bytes.withUnsafeBytes { try file.write($0, at: offset) }
    }

    private func read(_ disk: SimulatedDisk, _ path: String) throws -> [UInt8]? {
        guard case .file(let size) = try disk.status(path) else { return nil }
        var bytes = [UInt8](repeating: 0xEE, count: size)
        let file = try disk.open(path)
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }

    @Test("an open file outlives its name, and what takes the name is another")
    func names() throws {
        let file = try disk.open("/d/a", .create)
        try write(file, [1, 2, 3])
        try disk.rename("/d/a", to: "/d/b")
        try write(file, [4], at: 3)
        #expect(try read(disk, "/d/b") == [1, 2, 3, 4])
        let other = try disk.open("/d/a", .create, isNew: true)
        try write(other, [9])
        try disk.rename("/d/a", to: "/d/b")
        try write(file, [5], at: 4)
        #expect(try file.size() == 5)
        #expect(try read(disk, "/d/b") == [9])
        #expect(try disk.names(in: "/d") == ["b"])
        #expect(throws: SystemError.self) { try disk.open("/d/b", .create, isNew: true) }
        #expect(throws: SystemError.self) { try disk.open("/nowhere/b", .create) }
    }

    @Test(
        "what was not synced may be lost, what was is there, in every kind of loss",
        arguments: PowerLoss.allCases)
    func loss(_ loss: PowerLoss) throws {
        let file = try disk.open("/d/a", .create)
        let synced = [UInt8](repeating: 1, count: 3000)
        try write(file, synced)
        try file.sync()
        try disk.synchronise("/d")
        // Sectors 2 and 3, and a name.
        try write(file, [UInt8](repeating: 2, count: 1024), at: 1024)
        _ = try disk.open("/d/new", .create)
        var random = SeededGenerator(seed: 1)
        var sectors: Set<[UInt8]> = []
        var names: Set<[String]> = []
        for _ in 0..<200 {
            let image = disk.powerCut(loss, using: &random)
            let bytes = try #require(try read(image, "/d/a"))
            #expect(bytes.count == 3000)
            #expect(bytes[..<1024] == synced[..<1024] && bytes[2048...] == synced[2048...])
            sectors.insert([bytes[1024], bytes[1536]])
            names.insert(try image.names(in: "/d"))
        }
        switch loss {
        case .nothing: #expect(sectors == [[2, 2]] && names == [["a", "new"]])
        case .everything: #expect(sectors == [[1, 1]] && names == [["a"]])
        case .any, .sized: #expect(sectors == [[1, 1], [2, 2]] && names.count == 2)
        case .tail, .torn: #expect(sectors.isSuperset(of: [[2, 1], [1, 2]]) && names.count == 2)
        case .garbled: #expect(sectors.count > 10 && sectors.allSatisfy { $0[1] <= 2 })
        }
        #expect(try read(disk, "/d/a")?[1024] == 2)
    }

    @Test("of the changes of names the first survive, a rename whole or not at all")
    func order() throws {
        for name in ["a", "b"] { _ = try disk.open("/d/" + name, .create) }
        try disk.synchronise("/d")
        try disk.rename("/d/a", to: "/d/b")
        _ = try disk.open("/d/c", .create)
        try disk.remove("/d/b")
        var random = SeededGenerator(seed: 1)
        var found: Set<[String]> = []
        for _ in 0..<100 { found.insert(try disk.powerCut(.any, using: &random).names(in: "/d")) }
        #expect(found == [["a", "b"], ["b"], ["b", "c"], ["c"]])
    }

    @Test("a killed process leaves all that it wrote, and hears nothing any more")
    func kill() throws {
        let file = try disk.open("/d/a", .create)
        try write(file, [1, 2])
        disk.fault = { $0.kind == .write ? .die : .goOn }
        #expect(throws: SystemError.self) { try write(file, [3], at: 2) }
        #expect(disk.isDeaf)
        disk.fault = nil
        #expect(throws: SystemError.self) { _ = try disk.names(in: "/d") }
        let next = disk.kill()
        #expect(try read(next, "/d/a") == [1, 2])
        #expect(throws: SystemError.self) { try write(file, [3], at: 2) }
        var random = SeededGenerator(seed: 1)
        #expect(try next.powerCut(.everything, using: &random).names(in: "/d") == [])
    }

    @Test("a full disk takes what fits, and has room again when a file goes that nobody has open")
    func capacity() throws {
        let disk = SimulatedDisk(capacity: 5 * 4096)
        disk.makeDirectory("/d")
        let ballast = try disk.open("/d/ballast", .create)
        try ballast.allocate(3 * 4096)
        #expect(disk.free == 2 * 4096)
        let file = try disk.open("/d/a", .create)
        let error = #expect(throws: SystemError.self) {
            try write(file, [UInt8](repeating: 1, count: 3 * 4096), at: 100)
        }
        #expect(error?.code == ENOSPC)
        #expect(try file.size() == 2 * 4096)
        // What has its place can be written.
        try write(file, [2], at: 5000)
        try disk.remove("/d/ballast")
        #expect(disk.free == 0)
        withExtendedLifetime(ballast) {}
    }

    @Test("the space of a file without a name is free when it is closed")
    func space() throws {
        let disk = SimulatedDisk(capacity: 8192)
        disk.makeDirectory("/d")
        do {
            let file = try disk.open("/d/a", .create)
            try file.allocate(8192)
            try disk.remove("/d/a")
            #expect(disk.free == 0)
        }
        #expect(disk.free == 8192)
        #expect(disk.openHandles == 0)
    }

    @Test("a sync that failed may have lost writes, and the next one does not tell")
    func failedSync() throws {
        let file = try disk.open("/d/a", .create)
        try disk.synchronise("/d")
        for index in 0..<40 { try write(file, [1], at: index) }
        disk.fault = { $0.kind == .sync ? .fail(EIO) : .goOn }
        #expect(throws: SystemError.self) { try file.sync() }
        disk.fault = nil
        try file.sync()
        #expect(try read(disk, "/d/a") == [UInt8](repeating: 1, count: 40))
        var random = SeededGenerator(seed: 1)
        let left = try #require(try read(disk.powerCut(.nothing, using: &random), "/d/a"))
        #expect(left.contains(0) && left.contains(1))
    }

    @Test("operations are counted and named")
    func operations() throws {
        var seen: [String] = []
        disk.fault = {
            seen.append("\($0.number) \($0.kind) \($0.path)")
            return .goOn
        }
        let file = try disk.open("/d/a", .create)
        try write(file, [1])
        try file.sync()
        try disk.synchronise("/d")
        #expect(seen == ["1 open /d/a", "2 write /d/a", "3 sync /d/a", "4 syncDirectory /d"])
    }
}
