import Base
import Foundation
import ServerStore
import Testing

@testable import Accounts

@Suite("passwords, sessions and claim codes") struct PasswordTests {
    private let store: Store
    private let mill = PasswordMill()
    private let start = Timestamp(milliseconds: 1_781_000_000_000)

    init() throws {
        let path = NSTemporaryDirectory() + "passwords-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        store = try Store(.sqlite(path + "/server.db"), patience: .seconds(60)) { _ in }
    }

    private func close() {
        mill.close()
        store.close()
    }

    private func user(of secret: Secret, at now: Timestamp) async throws -> UserEntry? {
        try await store.read { session throws(StoreError) in
            try Sessions.user(of: secret, now: now, latest: now, in: session)
        }
    }

    private func set(_ password: String, of name: String) async throws -> Bool {
        try await passwords.set(try await passwords.hashed(password, of: name), of: name, now: start)
    }

    private func add(_ name: String) async throws {
        let start = start
        _ = try await store.write { session throws(StoreError) in
            try Users.add(name, .reader, now: start, in: session)
        }
    }

    private var passwords: Passwords { Passwords(store: store, mill: mill) }

    private func made(_ password: String, _ salt: String) async throws -> [UInt8] {
        try await mill.hash(password, salt: Array(salt.utf8), of: "ada", isKnown: false)
    }

    private func logIn(_ name: String, _ password: String, now: Timestamp) async throws -> Passwords.Entry? {
        try await passwords.logIn(
            name, password, stored: passwords.stored(of: name), isKnown: false, now: now)
    }

    @Test("scrypt is that of RFC 7914, salted, and one at a time in a bounded line") func hashing()
        async throws
    {
        // Computed by OpenSSL's `kdf` program: N 16384, r 8, p 5, 32 bytes.
        let hash = try await made("correct horse", "battery staple!!")
        #expect(hash.count == 32)
        #expect(try await made("correct horse", "battery staple!?") != hash)
        #expect(try await made("correct horse", "battery staple!!") == hash)
        let mill = mill
        func refused() async -> Int {
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        (try? await mill.hash("x", salt: [1], of: "ada", isKnown: false)) == nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
        }
        // Those that come one after the other, as where others have the processors, find room.
        let end = ContinuousClock.now + .seconds(120)
        var most = await refused()
        while most < 20, ContinuousClock.now < end { most = await refused() }
        #expect(most >= 20)
        close()
    }

    @Test("a session begins with the password, and ends with logout, time, a new password and the user")
    func sessions() async throws {
        try await add("ada")
        #expect(
            try await logIn("ada", "long enough", now: start) == nil, "there is no password yet")
        #expect(try await set("long enough", of: "ada"))
        #expect(try await set("long enough", of: "bob") == false)
        #expect(try await logIn("ada", "long enough!", now: start) == nil)
        #expect(try await logIn("bob", "long enough", now: start) == nil)
        let first = try #require(try await logIn("ada", "long enough", now: start)).session
        let second = try #require(try await logIn("ada", "long enough", now: start)).session
        #expect(first != second)
        #expect(try await user(of: first, at: start)?.name == "ada")
        #expect(try await user(of: Secret(.session, of: first.owner), at: start) == nil)
        let end = start.advanced(bySeconds: Sessions.lifetime)
        #expect(try await user(of: first, at: end) == nil)
        try await store.write { session throws(StoreError) in try Sessions.end(first, in: session) }
        #expect(try await user(of: first, at: start) == nil)
        #expect(try await user(of: second, at: start) != nil)
        #expect(try await set("longer than that", of: "ada"))
        #expect(try await user(of: second, at: start) == nil)
        let third = try #require(try await logIn("ada", "longer than that", now: start)).session
        _ = try await store.write { session throws(StoreError) in try Users.remove("ada", in: session) }
        #expect(try await user(of: third, at: start) == nil)
        let cells = try await store.read { session throws(StoreError) in
            try session.run("SELECT * FROM sessions") + session.run("SELECT * FROM passwords")
        }
        #expect(cells.isEmpty)
        close()
    }

    @Test("a user has so many sessions, of which the oldest end") func manySessions() async throws {
        try await add("ada")
        _ = try await set("long enough", of: "ada")
        var sessions: [Secret] = []
        for number in 0..<22 {
            let now = start.advanced(bySeconds: Double(number))
            sessions.append(try #require(try await logIn("ada", "long enough", now: now)).session)
        }
        let now = start.advanced(bySeconds: 30)
        #expect(try await user(of: sessions[1], at: now) == nil)
        #expect(try await user(of: sessions[2], at: now) != nil)
        close()
    }

    @Test("the companion of a session is its own") func companion() {
        let secret = Secret(.session, of: 1)
        #expect(secret.hasCompanion(secret.companion))
        #expect(!secret.hasCompanion("") && !secret.hasCompanion(Secret(.session, of: 1).companion))
        #expect(!secret.hasCompanion(secret.text))
    }

    // MARK: Browsers that are known

    @Test("a browser is known for 90 days, to its user, until the password is a new one") func known()
        async throws
    {
        for name in ["ada", "bob"] {
            try await add(name)
            _ = try await set("long enough", of: name)
        }
        let browser = try #require(try await logIn("ada", "long enough", now: start)).browser
        let shown = try #require(KnownBrowser(browser.text))
        #expect(shown == browser)
        func isKnown(_ name: String, after days: Double = 0) async throws -> Bool {
            let stored = try await passwords.stored(of: name)
            return passwords.isKnown(shown, to: stored, now: start.advanced(bySeconds: days * 86_400))
        }
        #expect(try await isKnown("ada"))
        #expect(try await isKnown("ada", after: 89.99))
        #expect(try await isKnown("ada", after: 90.01) == false)
        #expect(try await isKnown("bob") == false)
        #expect(try await isKnown("eve") == false)
        // The same password is another one: its salt is.
        _ = try await set("long enough", of: "ada")
        #expect(try await isKnown("ada") == false)
        let stored = try await passwords.stored(of: "ada")
        #expect(!passwords.isKnown(nil, to: stored, now: start))
        close()
    }

    @Test("names take turns, and the one with the most gives way; who is known waits in a line of his own")
    func turns() {
        var line = PasswordLine<String>()
        for number in 0..<16 { #expect(line.add("x\(number)", of: "x", isKnown: false) == nil) }
        #expect(line.add("x16", of: "x", isKnown: false) == "x16")
        #expect(line.add("a0", of: "a", isKnown: false) == "x15")
        #expect(line.add("b0", of: "b", isKnown: false) == "x14")
        #expect(line.add("a1", of: "a", isKnown: false) == "x13")
        #expect(line.add("k0", of: "x", isKnown: true) == nil)
        #expect(line.add("k1", of: "x", isKnown: true) == nil)
        let order = (0..<8).map { _ in line.take() }
        #expect(order == ["k0", "x0", "k1", "a0", "b0", "x1", "a1", "x2"])
        for _ in 0..<10 { #expect(line.take()?.hasPrefix("x") == true) }
        #expect(line.take() == nil)
        #expect(line.add("y", of: "y", isKnown: false) == nil && line.take() == "y")
        // All of one each: nobody gives way.
        for number in 0..<16 { #expect(line.add("\(number)", of: "\(number)", isKnown: true) == nil) }
        #expect(line.add("z", of: "z", isKnown: true) == "z")
        #expect((0..<16).map { _ in line.take() } == (0..<16).map { "\($0)" })
    }

    // MARK: Claim codes

    private func enroll(_ name: String, _ code: String, at now: Timestamp) async throws -> (
        DeviceEntry, TokenPair
    )? {
        try await store.write { session throws(StoreError) in
            try Claims.enroll(name, code: code, lifetime: 100, now: now, in: session).map { ($0.0, $0.1) }
        }
    }

    @Test(
        "what a code asks for is kept with it",
        arguments: [
            CommandRights(), CommandRights(allow: []),
            CommandRights(allow: ["locate", "sync"], settings: []),
            CommandRights(settings: CommandRights.tunable),
        ])
    func rights(_ rights: CommandRights) async throws {
        let start = start
        let made = try await store.write { session throws(StoreError) in
            let (entry, code) = try Claims.add(
                uses: 1, lifetime: 1000, rights: rights, now: start, in: session)
            return (entry, try Claims.enroll("van", code: code, lifetime: 100, now: start, in: session))
        }
        #expect(made.0.rights == rights && made.1?.2 == rights)
        #expect(
            try await store.read { session throws(StoreError) in try Claims.all(in: session) }.first?.rights
                == rights)
        close()
    }

    @Test("a code makes as many devices as it may, until it ends, and a lost answer costs nothing")
    func claims() async throws {
        let start = start
        let (entry, code) = try await store.write { session throws(StoreError) in
            try Claims.add(uses: 2, lifetime: 1000, now: start, in: session)
        }
        #expect(code.utf8.count == 23 && entry.uses == 2)
        let (device, lost) = try #require(try await enroll("van", code, at: start))
        // As somebody types it.
        let typed = code.lowercased().replacing("-", with: " ")
        let (again, pair) = try #require(try await enroll("van", typed, at: start))
        #expect(again.id == device.id && pair != lost)
        let known = try #require(
            try await store.read { session throws(StoreError) in
                try Devices.tokens(of: device.id, in: session)
            })
        #expect(known.valid(pair.access, now: start) != nil && known.valid(lost.access, now: start) == nil)
        // Once a token has arrived, the name is taken.
        try await store.write { session throws(StoreError) in
            try Devices.noteUse(pair.access.hash, of: device.id, now: start, in: session)
        }
        await #expect(throws: StoreError.self) { try await enroll("van", code, at: start) }
        #expect(try await enroll("bus", "00000-00000-00000-00000", at: start) == nil)
        #expect(try await enroll("bus", code, at: start.advanced(bySeconds: 1000)) == nil)
        #expect(try await enroll("bus", code, at: start) != nil)
        #expect(try await enroll("tram", code, at: start) == nil)
        close()
    }
}
