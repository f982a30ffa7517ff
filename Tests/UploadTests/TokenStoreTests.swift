import Base
import Glibc
import Linux
import Support
import Testing

@testable import Upload

@Suite("the store of the tokens")
final class TokenStoreTests {
    private let directory: TemporaryDirectory
    private let state: StateDirectory
    private var random = SeededGenerator(seed: 5)

    init() throws {
        directory = try TemporaryDirectory()
        state = try StateDirectory(directory.file("state"))
        mkdir(directory.file("credentials"), 0o700)
    }

    @Test(
        "the files of a destination",
        arguments: [
            ("tokens", true, false), ("tokens.aside-1", true, false), ("tokens-home", false, true),
            ("tokens-home.aside-2", false, true), ("tokens-home2", false, false),
            ("tokens-home-2", false, false), ("beekond.key", false, false), ("tokens2", false, false),
        ])
    func files(name: String, isMain: Bool, isHome: Bool) throws {
        let home = try #require(DestinationName("home"))
        #expect(TokenStore.holds(name, tokensOf: .main) == isMain)
        #expect(TokenStore.holds(name, tokensOf: home) == isHome)
    }

    @Test("destinations that need the key at the same time make one")
    func oneKey() async throws {
        for round in 0..<20 {
            let state = try StateDirectory(directory.file("state-\(round)"))
            let stores = try (0..<8).map {
                TokenStore(
                    directory: state, credentials: nil,
                    destination: try #require(DestinationName("d\($0)")))
            }
            let record = record("a")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for store in stores {
                    group.addTask {
                        var random = SystemRandomNumberGenerator()
                        try store.save(record, using: &random)
                    }
                }
                try await group.waitForAll()
            }
            for store in stores { #expect(try store.load() == .record(record)) }
        }
    }

    private var credentials: String { directory.file("credentials") }
    private var store: TokenStore { TokenStore(directory: state, credentials: nil) }
    private var credentialed: TokenStore { TokenStore(directory: state, credentials: credentials) }

    private func save(_ access: String, to store: TokenStore? = nil, isOverwriting: Bool = true) throws {
        try (store ?? self.store).save(record(access), isOverwriting: isOverwriting, using: &random)
    }

    private func record(_ access: String) -> AuthRecord {
        var record = AuthRecord()
        record.tokens = Tokens(access: access, refresh: "r", expiresAt: 5, lifetime: 0.1)
        record.previous = Tokens(refresh: "before")
        record.isExchanging = true
        record.seedDigest = "d"
        record.seedEpoch = 3
        record.uploadOrigin = TokenOrigin(scheme: "http", host: "h", port: 80, proxy: "http://p:3128")
        record.refreshOrigin = TokenOrigin(scheme: "https", host: "i", port: 8443, proxy: nil)
        record.uploadHost = "j"
        record.refreshHost = "k"
        record.death = .noToken
        record.deathStatus = 204
        record.lastAttempt = AuthRecord.Moment(seconds: 1.5, time: nil)
        record.lastRefresh = 7
        return record
    }

    @Test("gives back what it was given, and writes other bytes each time")
    func roundTrip() throws {
        #expect(try store.load() == .nothing)
        #expect(try state.read(TokenStore.keyName) == nil, "no key before it is needed")
        try save("a")
        let first = try #require(try state.read(TokenStore.name))
        #expect(try store.load() == .record(record("a")))
        try save("a")
        #expect(try state.read(TokenStore.name) != first)
        #expect(try #require(try state.read(TokenStore.keyName)).count == 32)
        for name in [TokenStore.name, TokenStore.keyName] {
            var status = stat()
            #expect(stat(state.file(name), &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    @Test("is locked without its key, and open again with it")
    func locked() throws {
        try save("a")
        let key = try #require(try state.read(TokenStore.keyName))
        let sealed = try state.read(TokenStore.name)
        for other: [UInt8]? in [nil, [], [UInt8](repeating: 1, count: 31), [UInt8](repeating: 1, count: 32)] {
            if let other {
                try state.replace(TokenStore.keyName, with: other)
            } else {
                unlink(state.file(TokenStore.keyName))
            }
            guard case .locked = try store.load() else { return #expect(Bool(false), "\(other ?? [])") }
            #expect(try state.read(TokenStore.name) == sealed)
        }
        try state.replace(TokenStore.keyName, with: key)
        #expect(try store.load() == .record(record("a")))
    }

    @Test("a key file that is no key is not replaced")
    func badKeyFile() throws {
        try state.replace(TokenStore.keyName, with: [1, 2, 3])
        #expect(throws: TokenStore.Failure.self) { try save("a") }
        #expect(try state.read(TokenStore.keyName) == [1, 2, 3])
    }

    @Test("seals with the credential when there is one, and opens with either")
    func credential() throws {
        try save("a")
        try directory.write("credentials/" + TokenStore.keyName, [UInt8](repeating: 9, count: 32))
        #expect(try credentialed.load() == .record(record("a")))
        try save("b", to: credentialed)
        #expect(try credentialed.load() == .record(record("b")))
        unlink(state.file(TokenStore.keyName))
        #expect(try credentialed.load() == .record(record("b")))
        guard case .locked = try store.load() else { return #expect(Bool(false)) }
        // A credential that is too short is not passed over in silence.
        try directory.write("credentials/" + TokenStore.keyName, [1])
        #expect(throws: TokenStore.Failure.self) { try save("c", to: credentialed) }
        #expect(try state.read(TokenStore.keyName) == nil)
    }

    @Test("a key that cannot be read is no missing one, and is not in the way of another")
    func unreadableKey() throws {
        try save("a")
        mkdir(credentials + "/" + TokenStore.keyName, 0o700)
        #expect(try credentialed.load() == .record(record("a")))
        unlink(state.file(TokenStore.keyName))
        #expect(throws: SystemError.self) { try credentialed.load() }
    }

    @Test("puts a damaged file aside, each under a name of its own")
    func damaged() throws {
        for number in 1...3 {
            try save("a")
            var bytes = try #require(try state.read(TokenStore.name))
            bytes[bytes.count - 1] ^= 1
            try state.replace(TokenStore.name, with: bytes)
            let aside = state.file("tokens.aside-\(number)")
            #expect(try store.load() == .damaged(aside: aside))
            #expect(try readFile(aside, limit: 1 << 20) == bytes)
            #expect(try store.load() == .nothing)
        }
    }

    @Test("keeps what it cannot read when new tokens are given")
    func notOverwriting() throws {
        try save("a")
        let sealed = try #require(try state.read(TokenStore.name))
        try state.replace(TokenStore.keyName, with: [UInt8](repeating: 1, count: 32))
        // Nothing has changed while the new ones cannot be written.
        mkdir(state.file(TokenStore.name + ".tmp"), 0o700)
        #expect(throws: TokenStore.Failure.self) { try save("b", isOverwriting: false) }
        #expect(try state.read(TokenStore.name) == sealed)
        rmdir(state.file(TokenStore.name + ".tmp"))
        try save("b", isOverwriting: false)
        #expect(try readFile(state.file("tokens.aside-1"), limit: 1 << 20) == sealed)
        #expect(try store.load() == .record(record("b")))
    }

    @Test("puts a link aside, and tells a failure")
    func failures() throws {
        symlink("/etc/hostname", state.file(TokenStore.name))
        #expect(try store.load() == .damaged(aside: state.file("tokens.aside-1")))
        mkdir(state.file(TokenStore.name + ".tmp"), 0o700)
        #expect(throws: TokenStore.Failure.self) { try save("a") }
    }
}
