import Base
import Foundation
import Support
import Testing

@testable import DaemonConfiguration
@testable import Upload

@Suite("how long TLS sessions are resumed")
struct SessionLifetimeTests {
    private static func instant(_ seconds: Double) -> BootInstant {
        BootInstant(nanoseconds: Int64(seconds * 1e9))
    }

    private static let sync: Settings.Sync = {
        var sync = Settings.Sync()
        sync.url = "https://a.example/up"
        sync.headers = [Settings.Field(name: "X-Key", value: Secret("one"))]
        return sync
    }()

    private static let guarded = Settings.Format.owntracks(
        Settings.OwnTracks(deviceID: "van", username: Secret("u"), password: Secret("p"), mqtt: nil))

    private static let files: [TLSFile?] = ["ca", "certificate", "key"].map { name in
        var file = TLSFile(path: "/nowhere/" + name)
        file.state = .init(device: 1, inode: 2, size: 3, modified: 4)
        return file
    }

    private static let terms: SessionLifetime.Terms = SessionLifetime.Terms(
        identity: SessionIdentity(sync), proxy: nil, files: files)

    /// Sessions that are a second old.
    private static func agreed(_ terms: SessionLifetime.Terms = terms) -> SessionLifetime {
        var lifetime = SessionLifetime()
        _ = lifetime.begin(terms, now: instant(0))
        _ = lifetime.end(.done)
        return lifetime
    }

    private static func changed(_ change: (inout Settings.Sync) -> Void) -> SessionLifetime.Terms {
        var sync = sync
        change(&sync)
        return SessionLifetime.Terms(identity: SessionIdentity(sync), proxy: nil, files: files)
    }

    private static func changed(file index: Int, _ change: (inout TLSFile.State) -> Void)
        -> SessionLifetime.Terms
    {
        var terms = terms
        if var state = terms.files[index]?.state {
            change(&state)
            terms.files[index]?.state = state
        }
        return terms
    }

    private static func changed(_ change: (inout SessionLifetime.Terms) -> Void) -> SessionLifetime.Terms {
        var terms = terms
        change(&terms)
        return terms
    }

    @Test(
        "what they were agreed under must not change",
        arguments: [
            ("nothing", terms, false),
            ("host", changed { (sync: inout Settings.Sync) in sync.url = "https://b.example/up" }, true),
            (
                "header", changed { (sync: inout Settings.Sync) in sync.headers[0].value = Secret("two") },
                true
            ),
            ("no header", changed { (sync: inout Settings.Sync) in sync.headers = [] }, true),
            ("auth", changed { (sync: inout Settings.Sync) in sync.auth = Settings.Auth() }, true),
            ("login", changed { (sync: inout Settings.Sync) in sync.format = guarded }, true),
            ("what says nothing of it", changed { (sync: inout Settings.Sync) in sync.batchSize = 7 }, false),
            (
                "proxy",
                changed { (terms: inout SessionLifetime.Terms) in terms.proxy = "http://127.0.0.1:3128" },
                true
            ),
            ("no ca_file", changed { (terms: inout SessionLifetime.Terms) in terms.files[0] = nil }, true),
            (
                "path", changed { (terms: inout SessionLifetime.Terms) in terms.files[1]?.path = "/other" },
                true
            ),
            (
                "file gone", changed { (terms: inout SessionLifetime.Terms) in terms.files[2]?.state = nil },
                true
            ),
            ("device", changed(file: 0) { $0.device = 9 }, true),
            ("inode", changed(file: 0) { $0.inode = 9 }, true),
            ("size", changed(file: 1) { $0.size = 9 }, true),
            ("time", changed(file: 2) { $0.modified = 9 }, true),
        ] as [(String, SessionLifetime.Terms, Bool)])
    func changes(name: String, terms: SessionLifetime.Terms, isForgotten: Bool) {
        var lifetime = Self.agreed()
        #expect(lifetime.begin(terms, now: Self.instant(1)) == isForgotten)
        // Once is enough.
        #expect(lifetime.begin(terms, now: Self.instant(2)) == false)
    }

    @Test("they last a day, however often they are resumed")
    func age() {
        var lifetime = Self.agreed()
        for hour in 1..<24 {
            #expect(lifetime.begin(Self.terms, now: Self.instant(Double(hour) * 3600)) == false)
            #expect(lifetime.end(.done) == .keep)
        }
        #expect(lifetime.begin(Self.terms, now: Self.instant(86_400)) == true)
        // The next day begins now.
        #expect(lifetime.begin(Self.terms, now: Self.instant(2 * 86_400 - 1)) == false)
        #expect(lifetime.begin(Self.terms, now: Self.instant(2 * 86_400)) == true)
    }

    @Test("new tokens end them with the request under way, once")
    func expired() {
        var lifetime = Self.agreed()
        lifetime.expire()
        #expect(lifetime.end(.done) == .keep)
        #expect(lifetime.begin(Self.terms, now: Self.instant(1)) == true)
        #expect(lifetime.end(.done) == .keep)
        #expect(lifetime.begin(Self.terms, now: Self.instant(2)) == false)
    }

    @Test("with none there is nothing to forget")
    func nothing() {
        var lifetime = SessionLifetime()
        lifetime.expire()
        #expect(lifetime.begin(Self.terms, now: Self.instant(1e6)) == false)
        #expect(lifetime.begin(Self.terms, now: Self.instant(1e6 + 1)) == false)
    }

    @Test(
        "a handshake that fails",
        arguments: [
            (.done, .keep, .keep), (.unreached, .keep, .keep), (.doubtful, .forget, .forget),
            // Only where a session may have been offered can it be to blame.
            (.refused, .forget, .forgetAndRepeat),
        ] as [(SessionLifetime.Handshake, SessionLifetime.Verdict, SessionLifetime.Verdict)])
    func failing(
        handshake: SessionLifetime.Handshake, first: SessionLifetime.Verdict, later: SessionLifetime.Verdict
    ) {
        var fresh = SessionLifetime()
        _ = fresh.begin(Self.terms, now: Self.instant(0))
        #expect(fresh.end(handshake) == first)
        var lifetime = Self.agreed()
        #expect(lifetime.end(handshake) == later)
    }

    @Test("a session of the repeated request has the terms and the age of the request")
    func repeated() {
        var lifetime = Self.agreed()
        #expect(lifetime.end(.refused) == .forgetAndRepeat)
        #expect(lifetime.end(.done) == .keep)
        #expect(lifetime.begin(Self.terms, now: Self.instant(86_399)) == false)
        let other = Self.changed { (sync: inout Settings.Sync) in sync.headers = [] }
        #expect(lifetime.begin(other, now: Self.instant(86_399)) == true)
    }

    @Test("what has failed twice is forgotten, and nobody's session is to blame")
    func refusedTwice() {
        var lifetime = Self.agreed()
        #expect(lifetime.end(.refused) == .forgetAndRepeat)
        #expect(lifetime.end(.refused) == .forget)
        #expect(lifetime.begin(Self.terms, now: Self.instant(86_400)) == false)
        #expect(lifetime.end(.refused) == .forget)
    }

    @Test("a file is known by what the file system says of it")
    func files() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/ca.pem"
        #expect(TLSFile(path: path).state == nil)
        try folder.write("ca.pem", Array("first".utf8))
        let first = TLSFile(path: path)
        #expect(first.state?.size == 5)
        #expect(TLSFile(path: path) == first)
        try folder.write("new.pem", Array("other".utf8))
        let date = try #require(
            try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date)
        try FileManager.default.setAttributes(
            [.modificationDate: date], ofItemAtPath: folder.path + "/new.pem")
        #expect(rename(folder.path + "/new.pem", path) == 0)
        #expect(TLSFile(path: path) != first, "of the same size and age, and another file all the same")
        let second = TLSFile(path: path)
        try FileManager.default.setAttributes(
            [.modificationDate: date.addingTimeInterval(0.001)], ofItemAtPath: path)
        #expect(TLSFile(path: path) != second)
    }

    @Test("requests without an identity have no terms")
    func noIdentity() {
        let factory = RequestFactory(Self.sync, version: "1")
        let request = Request(
            format: .beekon, method: .post, contentType: "a/b", encoding: nil, body: [])
        let options = factory.options(for: request, authorization: nil)
        #expect(SessionLifetime.Terms(options)?.identity == SessionIdentity(Self.sync))
        // A token that was refreshed is no other credential.
        #expect(
            SessionLifetime.Terms(factory.options(for: request, authorization: "Bearer new"))
                == SessionLifetime.Terms(options))
        #expect(
            SessionLifetime.Terms(HTTPOptions(url: "https://a", headers: [], userAgent: "", timeout: 1))
                == nil)
    }
}
