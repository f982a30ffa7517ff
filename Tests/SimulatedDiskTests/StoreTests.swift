import Glibc
import Linux
import SimulatedDisk
import Storage
import Support
import Testing

/// The store and the small files beside it on a simulated disk, of which any operation may be the last, or fail. The sample
/// tries some; BEEKOND_LONG=1 all.
@Suite struct StoreTests {
    private let seed = sampleSeed()
    private static let isLong = getenv("BEEKOND_LONG") != nil

    /// Operations of a whole life, from an empty disk on.
    private static let length: Int = {
        let disk = SimulatedDisk()
        guard let household = try? Household(on: disk), (try? household.live()) != nil else { return 0 }
        household.close()
        return disk.operations
    }()

    private func sample(_ count: Int) -> [Int] {
        var random = SeededGenerator(seed: seed)
        let all = Array(1...max(Self.length, 1))
        return Self.isLong ? all : Array(all.shuffled(using: &random).prefix(count))
    }

    /// What the next start finds.
    private func found(on disk: SimulatedDisk) throws -> Household.State {
        let household = try Household(on: disk)
        defer { household.close() }
        return try household.found()
    }

    @Test("a whole life leaves what it is to leave") func whole() throws {
        let disk = SimulatedDisk()
        let household = try Household(on: disk)
        try household.live()
        household.close()
        #expect(Self.length > 200)
        #expect(household.after == .init(rows: [4], frozen: nil, isTracking: false, metres: 30))
        #expect(try found(on: disk) == household.after)
        var random = SeededGenerator(seed: seed)
        #expect(try found(on: disk.powerCut(.everything, using: &random)) == household.after)
    }

    @Test("after a kill at any operation what was answered is there, and nothing half") func kills() throws {
        for number in sample(16) {
            let disk = SimulatedDisk(seed: seed)
            disk.fault = { $0.number == number ? .die : .goOn }
            var states: [Household.State] = [.init()]
            do {
                let household = try Household(on: disk)
                try? household.live()
                states = [household.before, household.after]
                household.close()
            } catch {
                #expect(disk.isDeaf, "\(error)")
            }
            #expect(disk.isDeaf && disk.openHandles == 0, "operation \(number)")
            let next = disk.kill()
            #expect(states.contains(try found(on: next)), "operation \(number)")
            #expect(next.openHandles == 0)
        }
    }

    @Test("after a power cut at any operation what was answered is there, and nothing half")
    func powerCuts() throws {
        let chosen = Set(sample(32))
        var random = SeededGenerator(seed: seed)
        let disk = SimulatedDisk(seed: seed)
        var images: [(number: Int, states: [Household.State], disk: SimulatedDisk)] = []
        var household: Household?
        disk.fault = { operation in
            if chosen.contains(operation.number) {
                let states = household.map { [$0.before, $0.after] } ?? [.init()]
                images.append((operation.number, states, disk.powerCut(using: &random)))
            }
            return .goOn
        }
        household = try Household(on: disk)
        try household?.live()
        household?.close()
        disk.fault = nil
        #expect(images.count > 28)
        for image in images {
            let context = "operation \(image.number), BEEKOND_SEED=\(seed)"
            do {
                let found = try found(on: image.disk)
                #expect(image.states.contains(found), "\(context)")
            } catch {
                Issue.record("\(error): \(context)")
            }
        }
    }

    @Test(
        "whichever operation fails, the life goes on, and what was answered is there",
        arguments: [EIO, ENOSPC])
    func failures(code: Int32) throws {
        for number in sample(16) {
            let context = "operation \(number) fails with \(code), BEEKOND_SEED=\(seed)"
            let disk = SimulatedDisk(seed: seed)
            var failed: SimulatedDisk.Operation?
            disk.fault = {
                guard $0.number == number else { return .goOn }
                failed = $0
                return .fail(code)
            }
            do {
                // A start that fails is tried again by whoever has started it.
                let household = try (try? Household(on: disk)) ?? Household(on: disk)
                try household.live(retries: 2)
                household.close()
                var random = SeededGenerator(seed: seed)
                let cut = disk.powerCut(using: &random)
                #expect(try found(on: cut) == household.after, "\(context): \(String(describing: failed))")
                #expect(try found(on: disk) == household.after, "\(context): \(String(describing: failed))")
            } catch {
                Issue.record("\(error): \(context): \(String(describing: failed))")
            }
            #expect(disk.openHandles == 0, "\(context)")
        }
    }

    @Test("a damaged database is moved aside and read to its end, wherever a kill or a cut interrupts that")
    func salvage() throws {
        let damaged = SimulatedDisk(seed: seed)
        do {
            let household = try Household(on: damaged)
            for number in 1...200 { try household.add(number) }
            household.close()
            // Pages in the midst.
            let file = try damaged.open("/state/beekon.db")
            let pages = try file.size() / 1024
            for page in [pages * 3 / 5, pages * 4 / 5] {
                try [UInt8](repeating: 0xA5, count: 1024).withUnsafeBytes {
                    try file.write($0, at: page * 1024)
                }
            }
            try file.sync()
        }
        var random = SeededGenerator(seed: seed)
        let whole = damaged.powerCut(.nothing, using: &random)
        let start = whole.operations
        let expected = try Household(on: whole).ids()
        #expect(expected.count > 150 && expected.count < 200)
        let length = whole.operations - start
        let all = Array(1...length).shuffled(using: &random)
        for number in Self.isLong ? all : Array(all.prefix(6)) {
            for isCut in [false, true] {
                let context = "operation \(number) of \(length), cut \(isCut), BEEKOND_SEED=\(seed)"
                let disk = damaged.powerCut(.nothing, using: &random)
                disk.fault = { $0.number == number ? .die : .goOn }
                _ = try? Household(on: disk).ids()
                #expect(disk.openHandles == 0, "\(context)")
                guard disk.isDeaf else { continue }
                let next = isCut ? disk.powerCut(using: &random) : disk.kill()
                do {
                    #expect(try Household(on: next).ids() == expected, "\(context)")
                } catch {
                    Issue.record("\(error): \(context)")
                }
                let asides = try next.names(in: "/state").filter {
                    $0.hasPrefix("beekon.db.corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix(".unread")
                }
                #expect(asides.count == 1, "\(context): \(asides)")
            }
        }
    }
}
