import Glibc
import Linux
import SimulatedDisk
import Support
import Testing

@testable import Storage

/// The workloads of the recorded disk on a simulated one, whose cuts reach the files beside SQLite's, too, and the same
/// examinations of what they leave. BEEKOND_SEED repeats a failure; BEEKOND_LONG=1 takes 500 cuts of each instead of 12.
@Suite struct SimulatedImageTests {
    private static let most = Effort.isLong ? 500 : 12
    private static let operations = Effort.isLong ? 1500 : 150

    /// What cuts at random operations would have left.
    private final class Images {
        private var random = SeededGenerator(seed: Effort.seed)
        private let disk: SimulatedDisk
        private let losses: [PowerLoss]
        /// With the latest operation of the workload that had returned, and for whom a failure is described.
        private(set) var all: [(returned: Int, what: String, disk: SimulatedDisk)] = []
        private(set) var changes = 0
        private(set) var failures = 0
        private var returned = 0
        /// A sync that is to fail: of what, and after how many others.
        private var doomed: (name: String, number: Int)?
        private let plain: Ground

        init(_ losses: [PowerLoss]) throws {
            self.losses = losses
            disk = SimulatedDisk(seed: Effort.seed)
            plain = try Ground(disk)
            disk.fault = { [unowned self] in judge($0) }
        }

        /// For the workload.
        var ground: Ground {
            var ground = plain
            ground.mark = { [unowned self] in returned = $0 }
            ground.failSync = { [unowned self] in doomed = $1 == 0 ? nil : ($0, $1) }
            return ground
        }

        func end() { disk.fault = nil }

        private func judge(_ operation: SimulatedDisk.Operation) -> SimulatedDisk.Answer {
            switch operation.kind {
            case .read, .status, .list, .lock, .mapMemory: return .goOn
            case .open, .write, .truncate, .allocate, .sync, .syncDirectory, .remove, .rename: break
            }
            changes += 1
            // Where something else than the WAL changes is rare, and where the danger is.
            let chance = operation.path.hasSuffix("-wal") ? 0.015 : 0.15
            if all.count < SimulatedImageTests.most, random.chance(chance) {
                let loss = losses.randomElement(using: &random) ?? .any
                let what = "operation \(operation.number): \(operation.kind) \(operation.path), loss \(loss)"
                all.append((returned, what, disk.powerCut(loss, using: &random)))
            }
            guard operation.kind == .sync, let doomed, operation.path.hasSuffix("/" + doomed.name) else {
                return .goOn
            }
            self.doomed = doomed.number == 1 ? nil : (doomed.name, doomed.number - 1)
            guard self.doomed == nil else { return .goOn }
            failures += 1
            return .fail(EIO)
        }
    }

    @Test(
        "what had returned is there, in the same order, and goes on",
        arguments: [StoreOptions.Durability.full, .normal], [false, true])
    func everyImageOpens(durability: StoreOptions.Durability, syncsFail: Bool) throws {
        let images = try Images(CrashImageTests.losses(durability: durability, syncsFail: syncsFail))
        let workload = try Workload(
            on: images.ground, durability: durability, seed: Effort.seed, syncsFail: syncsFail)
        try workload.run(operations: Self.operations)
        workload.close()
        images.end()
        var examination = try Examination(states: workload.states, durability: durability)
        for image in images.all {
            examination.pass(mark: image.returned)
            let fault = examination.fault(in: try Ground(image.disk))
            try #require(fault == nil, "\(fault ?? "") (BEEKOND_SEED=\(Effort.seed), \(image.what))")
        }
        print(
            "simulated crash images, durability \(durability)\(syncsFail ? ", syncs fail" : ""): "
                + "\(images.changes) changes, \(images.failures) failed syncs, \(examination.summary)")
        #expect(images.failures == 0 || syncsFail)
        #expect(examination.images >= Self.most / 2)
    }

    @Test(
        "each destination has or is owed each row once, and gets it",
        arguments: [StoreOptions.Durability.full, .normal])
    func everyImageOwes(durability: StoreOptions.Durability) throws {
        let images = try Images(PowerLoss.allCases)
        let workload = try DestinationWorkload(
            on: images.ground, durability: durability, seed: Effort.seed)
        try workload.run(operations: Self.operations)
        workload.close()
        images.end()
        var examination = try DestinationExamination(states: workload.states, durability: durability)
        var random = SeededGenerator(seed: Effort.seed)
        for image in images.all {
            examination.pass(mark: image.returned)
            do {
                try examination.examine(Ground(image.disk), isLater: random.chance(0.5))
            } catch {
                Issue.record("\(error) (BEEKOND_SEED=\(Effort.seed), \(image.what))")
                return
            }
        }
        print("simulated images of several destinations, durability \(durability): \(examination.summary)")
    }
}
