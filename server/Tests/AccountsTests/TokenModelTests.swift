import Base
import Foundation
import ServerStore
import Testing

@testable import Accounts

/// How much to do, and with which seed, from the environment.
private enum Effort {
    static let environment = ProcessInfo.processInfo.environment
    static let steps = environment["BEEKOND_LONG"] == "1" ? 250_000 : 5000
    /// Steps of one vehicle; then there is another.
    static let life = 1000
    /// Three seeds every time, and one that the commit decides, because a failure is repeated by its seed
    /// alone.
    static let seeds: [UInt64] =
        environment["BEEKOND_SEED"].flatMap { UInt64($0) }.map { [$0] }
        ?? [1, 2, 3, environment["BEEKOND_SAMPLE"].flatMap { UInt64($0) } ?? 4]

    /// In memory where there is such a folder: a million COMMITs need no disk.
    static var folder: String {
        let memory = "/dev/shm"
        return access(memory, W_OK) == 0 ? memory + "/" : NSTemporaryDirectory()
    }
}

/// Random interleavings, 20,000 steps of vehicles in four runs, a million with BEEKOND_LONG=1; BEEKOND_SEED repeats a failure.
@Suite("exchanges of tokens, over three servers") struct TokenModelTests {
    private struct Summary: Sendable {
        var uploads = 0
        var exchanges = 0
        var crashes = 0
        var troubles: [String] = []
    }

    @Test(
        "whatever is lost, late, doubled or cut off: nobody is locked out, and nobody is accused",
        arguments: Effort.seeds)
    func model(seed: UInt64) async throws {
        let folder = Effort.folder + "token-model-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try Store(.sqlite(folder + "/server.db"), patience: .seconds(600)) { _ in }
        defer { store.close() }
        var all = Summary()
        for vehicle in 0..<Effort.steps / Effort.life {
            let number = seed * 1_000_000 + UInt64(vehicle)
            let one = try await store.write { session throws(StoreError) in
                try Self.live(number, in: session)
            }
            all.uploads += one.uploads
            all.exchanges += one.exchanges
            all.crashes += one.crashes
            all.troubles += one.troubles
        }
        #expect(all.troubles.isEmpty, "BEEKOND_SEED=\(seed)")
        print(
            "tokens, BEEKOND_SEED=\(seed): \(all.uploads) uploads, \(all.exchanges) exchanges, "
                + "\(all.crashes) crashes, \(all.troubles.count) troubles")
    }

    @Test(
        "a thief who goes on with copied tokens is not unseen: he or the vehicle is refused",
        arguments: Effort.seeds)
    func thief(seed: UInt64) async throws {
        let folder = Effort.folder + "token-thief-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try Store(.sqlite(folder + "/server.db"), patience: .seconds(600)) { _ in }
        defer { store.close() }
        for vehicle in 0..<50 {
            let trouble = try await store.write { session throws(StoreError) in
                var model = try TokenModel(seed: seed * 1000 + UInt64(vehicle), in: session)
                for _ in 0..<20 { _ = try model.step(in: session) }
                return try model.robbed(in: session)
            }
            #expect(trouble == nil, "BEEKOND_SEED=\(seed), vehicle \(vehicle)")
        }
    }

    private static func live(_ number: UInt64, in session: any Session) throws(StoreError) -> Summary {
        var (model, summary) = (try TokenModel(seed: number, in: session), Summary())
        for step in 1...Effort.life {
            var trouble = try model.step(in: session)
            if step % 20 == 0, trouble == nil { trouble = try model.check(in: session) }
            if let trouble {
                summary.troubles.append("vehicle \(number), step \(step): \(trouble)")
                break
            }
        }
        (summary.uploads, summary.exchanges, summary.crashes) = (
            model.uploads, model.exchanges, model.crashes
        )
        return summary
    }
}
