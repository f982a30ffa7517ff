import Glibc
import Linux
import SimulatedDisk
import Storage
import Support
import Testing

/// A disk that does not give what it holds: for a while, or at one place for good. Found by seeds 47, 56 and 264 of the simulated
/// world: a sound database was moved aside, and as little could be read of it.
@Suite struct ReadingTests {
    private let seed = sampleSeed()

    /// A database of 200 rows that a kill has left, five of them in its log alone.
    private func left() throws -> SimulatedDisk {
        let disk = SimulatedDisk(seed: seed)
        do {
            let household = try Household(on: disk)
            for number in 1...195 { try household.add(number) }
            household.close()
        }
        let household = try Household(on: disk)
        for number in 196...200 { try household.add(number) }
        disk.die()
        household.close()
        return disk.kill()
    }

    private func isUntouched(_ disk: SimulatedDisk) throws -> Bool {
        disk.fault = nil
        let household = try Household(on: disk)
        defer { household.close() }
        guard try household.ids() == Set(1...200) else { return false }
        return try !disk.names(in: "/state").contains { $0.hasPrefix("beekon.db.") }
    }

    @Test("what a failing disk does not give for a while is there when it gives it again") func forAWhile()
        throws
    {
        var random = SeededGenerator(seed: seed)
        for chance in [0.01, 0.05, 0.2, 0.5, 1] {
            for name in ["beekon.db", "beekon.db-wal", ""] {
                let disk = try left()
                disk.fault = {
                    $0.kind == .read && (name.isEmpty || $0.path.hasSuffix("/" + name))
                        && random.chance(chance)
                        ? .fail(EIO) : .goOn
                }
                for _ in 0..<20 {
                    guard let household = try? Household(on: disk) else { continue }
                    _ = try? household.ids()
                    household.close()
                }
                #expect(try isUntouched(disk), "\(chance) of the reads of \(name), BEEKOND_SEED=\(seed)")
            }
        }
    }

    @Test("the rest of a database with places that cannot be read is in a new one") func forGood() throws {
        let disk = try left()
        do {
            // The log goes into the database.
            let household = try Household(on: disk)
            household.close()
        }
        guard case .file(let size) = try disk.status("/state/beekon.db") else { return }
        // Where the rows are.
        let bad = [17, 19].map { size * $0 / 20 / 4096 * 4096 }
        disk.fault = {
            let isDatabase = $0.path.contains("beekon.db") && !$0.path.hasSuffix("-wal")
            let isThere = bad.contains($0.offset / 4096 * 4096)
            // As it is called before and after it is moved aside; not the one that takes its place.
            let isOld = $0.path.hasSuffix(".unread") || !((try? self.hasAside(disk)) ?? false)
            return $0.kind == .read && isDatabase && isThere && isOld ? .fail(EIO) : .goOn
        }
        let household = try Household(on: disk)
        let ids = try household.ids()
        household.close()
        #expect(ids.count > 50 && ids.count < 200, "\(ids.count) rows")
        #expect(try hasAside(disk))
    }

    private func hasAside(_ disk: SimulatedDisk) throws -> Bool {
        let fault = disk.fault
        defer { disk.fault = fault }
        disk.fault = nil
        return try disk.names(in: "/state").contains { $0.hasPrefix("beekon.db.corrupt-") }
    }

    @Test("an identity that the disk does not give for a while is left alone, and its copy stands in for it")
    func identity() throws {
        let known = StoredIdentity(
            installID: "018bcfe5-6800-7000-8000-000000000001", signs: [:])
        for failing in [["identity.json", "identity.json.copy"], ["identity.json"], ["identity.json.copy"]] {
            let disk = SimulatedDisk(seed: seed)
            let household = try Household(on: disk)
            try household.write(known)
            disk.fault = { operation in
                let isIt = failing.contains { operation.path.hasSuffix("/" + $0) }
                return operation.kind == .read && isIt ? .fail(EIO) : .goOn
            }
            let found = household.identity()
            disk.fault = nil
            if failing.count == 2 {
                #expect(found.content == nil && found.trouble?.isPassing == true)
                #expect(try !disk.names(in: "/state").contains { $0.contains(".aside-") })
            } else {
                #expect(found.content == known)
            }
            #expect(household.identity().content == known)
            household.close()
        }
    }

    @Test("a deletion is not done while what was moved aside cannot be listed") func deletion() throws {
        let disk = try left()
        _ = try disk.open("/state/beekon.db.corrupt-1", .create)
        let household = try Household(on: disk)
        disk.fault = { $0.kind == .list ? .fail(EIO) : .goOn }
        #expect(throws: StorageError.self) { try household.delete() }
        disk.fault = nil
        try household.delete()
        #expect(try !hasAside(disk))
        household.close()
    }

    @Test(
        "a disk that does not say what there is leaves the database alone",
        arguments: [SimulatedDisk.Operation.Kind.status, .list])
    func blind(kind: SimulatedDisk.Operation.Kind) throws {
        for suffix in ["/state", "beekon.db", "beekon.db-wal"] {
            for number in 1...12 {
                let disk = try left()
                var seen = 0
                disk.fault = {
                    guard $0.kind == kind, $0.path.hasSuffix(suffix) else { return .goOn }
                    seen += 1
                    return seen >= number ? .fail(EIO) : .goOn
                }
                if let household = try? Household(on: disk) { household.close() }
                #expect(try isUntouched(disk), "\(kind) of \(suffix) from the \(number)th on")
            }
        }
    }
}
