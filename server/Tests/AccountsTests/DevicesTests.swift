import Base
import Foundation
import ServerStore
import Testing

@testable import Accounts

@Suite("devices and users in the database") struct DevicesTests {
    private let store: Store
    private let start = Timestamp(milliseconds: 1_781_000_000_000)

    init() throws {
        let path = NSTemporaryDirectory() + "accounts-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        store = try Store(.sqlite(path + "/server.db"), patience: .seconds(60)) { _ in }
    }

    private func after(_ seconds: Double) -> Timestamp { start.advanced(bySeconds: seconds) }

    private func add(_ name: String) async throws -> (DeviceEntry, TokenPair) {
        let start = start
        return try await store.write { session throws(StoreError) in
            try Devices.add(name, lifetime: 100, now: start, in: session)
        }
    }

    private func tokens(of device: Int64) async throws -> DeviceTokens? {
        try await store.read { session throws(StoreError) in try Devices.tokens(of: device, in: session) }
    }

    private func exchange(_ secret: Secret, at now: Timestamp) async throws -> Devices.Exchange {
        try await store.write { session throws(StoreError) in
            try Devices.exchange(secret, lifetime: 604_800, now: now, in: session)
        }
    }

    private func bought(_ secret: Secret, at now: Timestamp) async throws -> TokenPair? {
        if case .sold(let pair) = try await exchange(secret, at: now) { pair } else { nil }
    }

    /// - Returns: whether it was good.
    private func show(_ secret: Secret, at now: Timestamp) async throws -> Bool {
        guard let record = try await tokens(of: secret.owner)?.valid(secret, now: now) else { return false }
        try await store.write { session throws(StoreError) in
            try Devices.noteUse(record.hash, of: secret.owner, now: now, in: session)
        }
        return true
    }

    @Test("a device is added once, and its tokens are kept as hashes alone") func adding() async throws {
        let (device, pair) = try await add("van")
        await #expect(throws: StoreError.self) { try await add("van") }
        let known = try #require(try await tokens(of: device.id))
        #expect(known.valid(pair.access, now: after(99)) != nil)
        #expect(known.valid(pair.refresh, now: after(99)) != nil)
        let cells = try await store.read { session throws(StoreError) in
            try session.run("SELECT * FROM tokens")
        }
        #expect(cells.count == 2)
        #expect(
            !cells.description.contains(pair.access.text) && !cells.description.contains(pair.refresh.text))
        store.close()
    }

    @Test("a chain of exchanges, each of which may lose its answer, never locks the device out") func chain()
        async throws
    {
        var (device, pair) = try await add("van")
        for round in 1...20 {
            let now = after(Double(round) * 1000)
            if round % 2 == 0 { _ = try #require(try await bought(pair.refresh, at: now)) }
            let next = try #require(try await bought(pair.refresh, at: now))
            #expect(try await show(next.access, at: now))
            #expect(try await exchange(pair.refresh, at: now.advanced(bySeconds: 60)) == .overtaken)
            #expect(try await exchange(pair.refresh, at: now.advanced(bySeconds: 60.001)) == .shownAgain)
            #expect(try #require(try await tokens(of: device.id)).records.count <= 8, "they do not pile up")
            pair = next
        }
        let ended = try await store.read { session throws(StoreError) in
            try session.run("SELECT count(*) FROM ended_tokens").first?.first?.integer
        }
        #expect(ended == 30)
        store.close()
    }

    @Test("a revoked device may nothing, at once and for ever") func revoking() async throws {
        let (device, pair) = try await add("van")
        let start = start
        let id = device.id
        #expect(
            try await store.write { session throws(StoreError) in
                try Devices.revoke(id, now: start, in: session)
            })
        #expect(
            try await store.write { session throws(StoreError) in
                try Devices.revoke(99, now: start, in: session)
            }
                == false)
        #expect(try await tokens(of: id)?.valid(pair.access, now: start) == nil)
        #expect(try await exchange(pair.refresh, at: start) == .refused)
        store.close()
    }

    @Test("a user is known by the token, until removed") func users() async throws {
        let start = start
        let (user, secret) = try await store.write { session throws(StoreError) in
            try Users.add("ada", .reader, now: start, in: session)
        }
        #expect(
            try await store.read { session throws(StoreError) in try Users.user(of: secret, in: session) }
                == user)
        let other = Secret(.user, of: user.id)
        #expect(
            try await store.read { session throws(StoreError) in try Users.user(of: other, in: session) }
                == nil)
        #expect(try await store.write { session throws(StoreError) in try Users.remove("ada", in: session) })
        #expect(
            try await store.read { session throws(StoreError) in try Users.user(of: secret, in: session) }
                == nil)
        store.close()
    }

    @Test(
        "names",
        arguments: [
            ("van", true), ("", false), ("a\nb", false), ("<script>", true), ("Fußgänger 😀", true),
            ("a/b", false), (".", false), ("..", false), ("...", true),
            ("a\0", false),
        ])
    func names(name: String, isName: Bool) {
        #expect((Devices.complaint(aboutName: name) == nil) == isName)
        #expect(Devices.complaint(aboutName: String(repeating: "x", count: 101)) != nil)
    }
}
