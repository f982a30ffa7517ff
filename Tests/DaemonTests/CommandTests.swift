import Base
import ControlProtocol
import Testing
import Tracking

@testable import Daemon
@testable import DaemonConfiguration

@Suite("values of commands")
struct CommandTests {
    /// What a client is told.
    private func refusal(_ make: () throws(CommandFailure) -> Void) -> ControlError? {
        do {
            try make()
            return nil
        } catch {
            return ControlError(error)
        }
    }

    @Test("extras", arguments: [("vehicle", 7, true), ("", 7, false), ("x", 1024, true), ("x", 1025, false)])
    func extras(name: String, length: Int, isValid: Bool) {
        let value = String(repeating: "v", count: length)
        let refusal = refusal { () throws(CommandFailure) in _ = try Command.Extras([name: value]) }
        guard !isValid else {
            #expect(refusal == nil)
            return
        }
        guard case .invalidConfiguration(let key, _) = refusal else {
            Issue.record("\(name) with \(length) bytes leads to \(String(describing: refusal))")
            return
        }
        #expect(key == "extras." + name)
    }

    @Test(
        "tokens",
        arguments: [
            ("a", "r", 0, nil), ("a", nil, 253_402_300_799, nil), (nil, "r", nil, nil),
            (nil, nil, nil, "access_token"), ("a\n", nil, nil, "access_token"),
            ("", nil, nil, "access_token"),
            ("a", "", nil, "refresh_token"), ("a", nil, -1, "expires_at"),
            ("a", nil, 253_402_300_800, "expires_at"),
        ] as [(String?, String?, Int?, String?)])
    func tokens(access: String?, refresh: String?, expiresAt: Int?, wrong: String?) {
        let refusal = refusal { () throws(CommandFailure) in
            _ = try Command.Seed(access: access, refresh: refresh, expiresAt: expiresAt)
        }
        #expect(refusal == wrong.map { .invalidParameter($0) })
    }

    @Test("tokens that the configuration has no use for")
    func uselessTokens() throws {
        let (access, refresh) = (
            try Command.Seed(access: "a", refresh: nil, expiresAt: nil),
            try Command.Seed(access: nil, refresh: "r", expiresAt: nil)
        )
        var sync = Settings.Sync()
        func key(_ seed: Command.Seed, _ sync: Settings.Sync?) -> String? {
            let refusal = refusal { () throws(CommandFailure) in try seed.check(against: sync, of: .main) }
            guard case .invalidConfiguration(let key, _) = refusal else { return nil }
            return key
        }
        #expect(key(access, nil) == "sync.auth" && key(access, sync) == "sync.auth")
        sync.auth = Settings.Auth()
        #expect(key(access, sync) == nil && key(refresh, sync) == "sync.auth.refresh_url")
        sync.auth?.refreshURL = "https://example.com/token"
        #expect(key(refresh, sync) == nil)
    }

    @Test(
        "a request for a fix",
        arguments: [
            (nil, nil, nil, nil), (0, 0, 0.1, nil), (3600, 31_536_000, 5, nil),
            (-1, nil, nil, "timeout_seconds"), (3601, nil, nil, "timeout_seconds"),
            (nil, -1, nil, "max_age_seconds"), (nil, 4e7, nil, "max_age_seconds"),
            (nil, nil, 0, "accuracy_meters"), (nil, nil, -1, "accuracy_meters"),
        ] as [(Double?, Double?, Double?, String?)])
    func fix(timeout: Double?, maxAge: Double?, accuracy: Double?, wrong: String?) {
        let refusal = refusal { () throws(CommandFailure) in
            _ = try Command.FixRequest(timeout: timeout, maxAge: maxAge, accuracy: accuracy)
        }
        #expect(refusal == wrong.map { .invalidParameter($0) })
    }

    @Test("a geofence is refused by the beginning of its id")
    func geofence() {
        let id = String(repeating: "x", count: 1000)
        let refusal = refusal { () throws(CommandFailure) in
            _ = try Geofence(checking: Wire.Geofence(id: id, latitude: 0, longitude: 0, radiusMeters: 1))
        }
        guard case .invalidGeofence(let found, _) = refusal else {
            Issue.record("a long id leads to \(String(describing: refusal))")
            return
        }
        #expect(found == String(repeating: "x", count: 100))
    }

    @Test("a time")
    func time() throws {
        #expect(try Timestamp(checking: "2027-03-15T08:00:00Z") == start)
        let refusal = refusal { () throws(CommandFailure) in _ = try Timestamp(checking: "soon") }
        #expect(refusal == .invalidTime(value: "soon"))
    }
}
