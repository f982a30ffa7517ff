import Glibc
import Linux
import SQLite
import SimulatedDisk
import Support
import Testing

/// SQLite on the simulated disk, ended at any operation.
@Suite struct DeathTests {
    private let seed = sampleSeed()

    /// What a thousand power cuts at random operations leave.
    ///
    /// - Parameter pretends: whether an operation is only said to be done.
    /// - Returns: in how many of them something that was committed is missing, or the database is damaged.
    private func losses(cuts: Int, where pretends: (SimulatedDisk.Operation) -> Bool) throws -> [String] {
        let transactions = 120
        var random = SeededGenerator(seed: seed)
        let length = try {
            let disk = SimulatedDisk()
            try Process(on: disk).run(transactions)
            return disk.operations
        }()
        let chosen = Set((1...length).shuffled(using: &random).prefix(cuts))
        let disk = SimulatedDisk(seed: seed)
        let process = try Process(on: disk)
        var images: [(operation: Int, committed: Int, disk: SimulatedDisk)] = []
        try withoutActuallyEscaping(pretends) { pretends in
            disk.fault = { operation in
                if chosen.contains(operation.number) {
                    images.append(
                        (operation.number, process.committed, disk.powerCut(using: &random)))
                }
                return pretends(operation) ? .pretend : .goOn
            }
            try process.run(transactions)
            disk.fault = nil
        }
        #expect(images.count == min(cuts, length))
        var losses: [String] = []
        for image in images {
            let context = "BEEKOND_SEED=\(seed), operation \(image.operation) of \(length)"
            do {
                let found = try Process.examine(image.disk)
                if !(image.committed...image.committed + 1 ~= found) {
                    losses.append("\(image.committed) had been committed, \(found) are there (\(context))")
                }
            } catch {
                losses.append("\(error) (\(context))")
            }
            #expect(image.disk.openHandles == 0)
        }
        return losses
    }

    @Test("after a power cut all that was committed is there")
    func powerCuts() throws {
        #expect(try losses(cuts: 1000) { _ in false } == [])
    }

    @Test("a disk that only pretends to sync is found out", arguments: ["-wal", ".db", "/d"])
    func lies(suffix: String) throws {
        let losses = try losses(cuts: 300) {
            ($0.kind == .sync || $0.kind == .syncDirectory) && $0.path.hasSuffix(suffix)
        }
        #expect(!losses.isEmpty)
    }

    @Test("after a kill at each operation all that was committed is there")
    func kills() throws {
        var number = 0
        while true {
            number += 1
            let disk = SimulatedDisk(seed: seed &+ UInt64(number))
            let process = try Process(on: disk)
            disk.fault = { $0.number == number ? .die : .goOn }
            do {
                try process.run(8, checkpointPages: 6)
            } catch {
                #expect(disk.isDeaf, "\(error)")
            }
            disk.fault = nil
            let next = disk.isDeaf ? disk.kill() : disk
            let found = try Process.examine(next)
            #expect(process.committed...process.committed + 1 ~= found, "operation \(number)")
            #expect(process.vfs.openHandles == 0 && process.vfs.sharedMemories == 0)
            #expect(disk.openHandles == 0 && next.openHandles == 0)
            guard disk.isDeaf else { break }
        }
        #expect(number > 100)
    }

    @Test(
        "a commit that returned is there, one that failed is there whole or not at all, whichever operation fails",
        arguments: [ENOSPC, EIO, EROFS, EDQUOT])
    func failures(code: Int32) throws {
        var number = 0
        var failures = 0
        while true {
            number += 1
            let disk = SimulatedDisk(seed: seed &+ UInt64(number))
            let process = try Process(on: disk)
            var hasFailed = false
            do {
                let db = try process.open()
                db.leaveLogOnClose()
                for _ in 0..<5 { try process.commit(db) }
                let start = disk.operations
                disk.fault = {
                    guard $0.number == start + number else { return .goOn }
                    hasFailed = true
                    return .fail(code)
                }
                do {
                    try process.commit(db)
                    if number % 2 == 0 { try db.checkpoint() }
                } catch is SQLiteError {
                    failures += 1
                }
                disk.fault = nil
            }
            var random = SeededGenerator(seed: seed &+ UInt64(number))
            for left in [disk.powerCut(using: &random), disk] {
                let found = try Process.examine(left)
                #expect(process.committed...6 ~= found, "operation \(number)")
            }
            #expect(process.vfs.openHandles == 0 && disk.openHandles == 0)
            guard hasFailed || number % 2 == 1 else { break }
        }
        #expect(failures > 10)
    }

    @Test("a full disk fails a transaction and leaves the others; with room it goes on")
    func fullDisk() throws {
        let disk = SimulatedDisk(capacity: 256 << 10)
        let process = try Process(on: disk)
        let ballast = 64 << 10
        do {
            let file = try disk.open("/d/ballast", .create)
            try file.allocate(ballast)
        }
        let error = #expect(throws: SQLiteError.self) { try process.run(1000, checkpointPages: 1 << 20) }
        #expect(error?.code == .full)
        let committed = process.committed
        #expect(committed > 10)
        // The index of the WAL needs room, too.
        #expect(throws: SQLiteError.self) { try Process.examine(disk) }
        try disk.remove("/d/ballast")
        #expect(try Process.examine(disk) == committed)
        try process.run(5)
        #expect(try Process.examine(disk) == committed + 5)
    }
}
