import Base
import ControlProtocol
import DaemonConfiguration
import Glibc
import Linux
import Support
import Testing

@testable import Daemon

/// A configurator, and the test in the place of the reader.
final class Bench {
    let workshop: Workshop
    let directory: StateDirectory
    var options = Daemon.Options { _ in nil }
    let configurator: Configurator
    private var lastToken = 0

    var hub: Hub { workshop.hub }

    init(_ text: String = "[tracking]\ninterval_seconds = 7\n") throws {
        workshop = try Workshop()
        directory = try StateDirectory(workshop.state)
        options.configuration = workshop.directory.file("beekond.toml")
        try workshop.directory.write("beekond.toml", Array(text.utf8))
        configurator = try Configurator(options, directory)
    }

    func ask(_ request: Configurator.Request) -> Token {
        lastToken += 1
        configurator.ask(request, lastToken, hub)
        return lastToken
    }

    func set(_ settings: [String: SettingValue]) -> Token {
        ask(.set(settings.mapValues { ProposedValue.value($0) }, by: Caller(.member)))
    }

    /// What the reader is given, one at a time.
    func given() -> NewSettings? { hub.readerSettings.take() }

    /// The reader does what it has to.
    func read() throws {
        let work = try #require(given())
        if case .runtime(let file, let bytes) = work.kept { try file.replace(with: bytes) }
        finish()
    }

    /// The reader has adopted the settings, and the uploaders go by them.
    func finish() {
        configurator.finish(.success(()), hub, now: instant(0))
        configurator.settle(late: [], hub, now: instant(0))
    }

    /// Who has been answered, and the key at fault.
    func answers() -> [(token: Token, key: String?)] {
        hub.main.takeAll().compactMap { message in
            guard case .completed(let token, let result) = message else { return nil }
            guard case .failure(let failure) = result else { return (token, nil) }
            guard case .setting(let key) = failure.kind else { return (token, "storage") }
            return (token, key)
        }
    }

    var interval: Double { configurator.loaded.settings.tracking.intervalSeconds }
}

@Suite("changes of the configuration")
struct ConfiguratorTests {
    private let key = "tracking.interval_seconds"

    @Test("one is in force once the reader has taken it up, and is there after a restart")
    func change() throws {
        let bench = try Bench()
        let token = bench.set([key: .integer(9)])
        #expect(bench.interval == 7 && bench.answers().isEmpty)
        try bench.read()
        #expect(bench.interval == 9)
        #expect(bench.answers().map(\.token) == [token])
        #expect(try Configurator(bench.options, bench.directory).loaded == bench.configurator.loaded)
        // The uploader has it as well.
        let inForce = bench.hub.uploaders.main.settings.take()
        #expect(inForce?.settings == bench.configurator.loaded.settings && inForce?.revision == 1)
    }

    @Test("one that the reader could not write has not happened")
    func failure() throws {
        let bench = try Bench()
        _ = bench.set([key: .integer(9)])
        #expect(bench.given() != nil)
        bench.configurator.finish(.failure(.init(reason: "disk")), bench.hub, now: instant(0))
        #expect(bench.interval == 7)
        #expect(bench.answers().map(\.key) == ["storage"])
        #expect(bench.hub.uploaders.main.settings.isEmpty)
    }

    @Test("it is answered when all uploaders go by it, or after 2 s, and the next waits for that")
    func adoption() throws {
        let bench = try Bench()
        let tokens = [bench.set([key: .integer(9)]), bench.set([key: .integer(10)])]
        _ = try #require(bench.given())
        bench.configurator.finish(.success(()), bench.hub, now: instant(0))
        bench.configurator.settle(late: [.main], bench.hub, now: instant(1.9))
        #expect(bench.interval == 9 && bench.configurator.revision == 1, "it is in force")
        #expect(bench.answers().isEmpty && bench.given() == nil)
        #expect(bench.configurator.deadline == instant(2))
        bench.configurator.settle(late: [.main], bench.hub, now: instant(2))
        let first = bench.hub.main.takeAll().first
        guard case .completed(let token, .success(.adopted(removed: 0, late: [.main])))? = first else {
            Issue.record("who is late is not named")
            return
        }
        #expect(token == tokens[0] && bench.configurator.deadline == nil)
        try bench.read()
        #expect(bench.interval == 10 && bench.answers().map(\.token) == [tokens[1]])
    }

    @Test("what a server has asked for is answered without waiting for uploaders")
    func adoptionByServer() throws {
        let bench = try Bench(
            "[sync]\nurl = \"https://a.example/\"\n[sync.commands]\nenabled = true\nallow = [\"set_config\"]\n"
                + "settings = [\"\(key)\"]\n")
        let token = bench.ask(.serve([key: .value(.integer(9))]))
        _ = try #require(bench.given())
        bench.configurator.finish(.success(()), bench.hub, now: instant(0))
        #expect(bench.answers().map(\.token) == [token])
        bench.configurator.settle(late: [], bench.hub, now: instant(1))
        #expect(bench.answers().isEmpty && bench.configurator.deadline == nil)
    }

    @Test("they come one after the other, each upon the one before")
    func queue() throws {
        let bench = try Bench()
        let tokens = [
            bench.set([key: .integer(9)]), bench.set([key: .integer(-1)]), bench.ask(.reload),
            bench.set(["gpsd.port": .integer(5)]), bench.ask(.reset([key])),
        ]
        // The file is edited while the first is being written.
        try bench.workshop.directory.write("beekond.toml", Array("[tracking]\ninterval_seconds = 8\n".utf8))
        try bench.read()
        #expect(bench.interval == 9)
        try bench.read()
        try bench.read()
        #expect(bench.interval == 9 && bench.configurator.loaded.settings.gpsd.port == 5)
        try bench.read()
        #expect(bench.interval == 8 && bench.configurator.loaded.settings.gpsd.port == 5)
        #expect(bench.given() == nil)
        let answers = bench.answers()
        #expect(answers.map(\.token) == tokens)
        #expect(answers.map(\.key) == [nil, key, nil, nil, nil])
    }

    private func writes(_ bench: Bench) throws -> Bool {
        if case .nothing = try #require(bench.given()).kept { false } else { true }
    }

    @Test("while the reader hangs, only so many wait")
    func flood() throws {
        let bench = try Bench()
        for number in 0..<200 { _ = bench.set([key: .integer(number)]) }
        // One is under way.
        #expect(bench.answers().map(\.key) == Array(repeating: "storage", count: 200 - 65))
        for _ in 0..<65 { try bench.read() }
        #expect(bench.interval == 64 && bench.answers().count == 65)
    }

    @Test("one that changes nothing is not written")
    func same() throws {
        let bench = try Bench()
        _ = bench.set([:])
        #expect(try !writes(bench))
        bench.finish()
        _ = bench.set([key: .integer(9)])
        try bench.read()
        _ = bench.set([key: .number(9)])
        #expect(try !writes(bench))
        bench.finish()
        #expect(bench.answers().count == 3)
    }

    @Test("a bad file at reload changes nothing, and the place is named")
    func badFile() throws {
        let bench = try Bench()
        try bench.workshop.directory.write("beekond.toml", Array("[tracking]\ninterval_seconds = -1\n".utf8))
        _ = bench.ask(.reload)
        #expect(bench.given() == nil)
        #expect(bench.answers().map(\.key) == [key])
        #expect(bench.interval == 7 && bench.configurator.isDegraded)
        // A change goes on top of what is in force.
        _ = bench.set(["gpsd.port": .integer(5)])
        try bench.read()
        #expect(bench.configurator.isDegraded)
        try bench.workshop.directory.write("beekond.toml", Array("nonsense".utf8))
        _ = bench.ask(.reload)
        #expect(bench.answers().map(\.key) == [nil, "\(bench.options.file):1"])
        try bench.workshop.directory.write("beekond.toml", [])
        _ = bench.ask(.reload)
        try bench.read()
        #expect(bench.interval == 30 && !bench.configurator.isDegraded)
        #expect(bench.configurator.loaded.settings.gpsd.port == 5)
    }

    @Test(
        "a file of them that is damaged, foreign or of the future is moved aside",
        arguments: [
            "", "{", "[]", "null", "{}", "{\"version\":1}", "{\"version\":1,\"settings\":[]}",
            "{\"version\":2,\"settings\":{}}", "{\"version\":\"1\",\"settings\":{}}", "\u{0}\u{0}\u{0}",
            "{\"version\":1,\"settings\":{\"a\":1e999}}", "{\"version\":1,\"settings\":{}} x",
            "{\"version\":1,\"settings\":{" + (0...1024).map { "\"a\($0)\":1" }.joined(separator: ",") + "}}",
            String(repeating: "[", count: 100_000), String(repeating: " ", count: 2_000_000),
        ])
    func damaged(content: String) throws {
        let bench = try Bench()
        try bench.workshop.directory.write("state/settings.json", Array(content.utf8))
        let configurator = try Configurator(bench.options, bench.directory)
        #expect(configurator.isDegraded)
        #expect(configurator.loaded.listing == bench.configurator.loaded.listing)
        #expect(configurator.loaded.settings.awaitsSync && configurator.loaded.settings.holdsRows)
        let names = try bench.workshop.directory.names(in: "state").filter { $0.hasPrefix("settings") }
        #expect(names == ["settings.json.aside-1"])
        #expect(try bench.workshop.directory.read("state/settings.json.aside-1") == Array(content.utf8))
    }

    @Test("so is a link, and a folder", arguments: [true, false])
    func strange(isLink: Bool) throws {
        let bench = try Bench()
        let path = bench.directory.file(RuntimeSettings.name)
        if isLink {
            #expect(symlink("/etc/passwd", path) == 0)
        } else {
            #expect(mkdir(path, 0o700) == 0)
        }
        #expect(RuntimeSettings(bench.directory).load().complaint?.contains("aside-1") == true)
        // Nobody has made them again.
        #expect(RuntimeSettings(bench.directory).load().isLost)
        try RuntimeSettings(bench.directory).replace(with: RuntimeSettings.encode([:]))
        #expect(RuntimeSettings(bench.directory).load() == RuntimeSettings.LoadResult())
    }

    @Test("a copy takes the place of a file that is damaged or gone")
    func copyOfSettings() throws {
        let bench = try Bench()
        let file = RuntimeSettings(bench.directory)
        try file.replace(with: RuntimeSettings.encode(["a": .integer(1)]))
        for isGone in [false, true] {
            try bench.workshop.directory.write("state/settings.json", [0, 0])
            if isGone { #expect(unlink(bench.directory.file(RuntimeSettings.name)) == 0) }
            let found = file.load()
            #expect(found.values == ["a": .integer(1)] && !found.isLost)
            #expect(found.complaint?.contains("copy") == true)
            #expect(file.load() == RuntimeSettings.LoadResult(values: ["a": .integer(1)]))
        }
    }

    @Test("a single setting that is no good is left out, kept and told of; a value of no kind is dropped")
    func leftOut() throws {
        let bench = try Bench()
        let text = """
            {"version":1,"settings":{"gpsd.port":5,"tracking.future":true,"store.max_rows":"x","extras.a":{"b":1}}}
            """
        try bench.workshop.directory.write("state/settings.json", Array(text.utf8))
        _ = bench.ask(.reload)
        try bench.read()
        #expect(bench.configurator.isDegraded && bench.configurator.loaded.settings.gpsd.port == 5)
        _ = bench.ask(.reset(["store.max_rows"]))
        try bench.read()
        #expect(bench.configurator.isDegraded)
        #expect(
            RuntimeSettings(bench.directory).load().values
                == ["gpsd.port": .integer(5), "tracking.future": .bool(true)])
        _ = bench.ask(.reset(["tracking.future"]))
        try bench.read()
        #expect(!bench.configurator.isDegraded)
    }

    @Test("only the owner may read it, and every kind of value comes back as it was")
    func file() throws {
        let bench = try Bench()
        let values: [String: SettingValue] = [
            "a": .bool(true), "b": .integer(.max), "c": .number(0.1), "d": .string("é\"\\\n\u{0}/"),
            "e": .number(1e308), "h": .list(["wwan*", "\"[]"]), "i": .list([]),
            "f": .integer(.min), "g": .string(""),
        ]
        let file = RuntimeSettings(bench.directory)
        try file.replace(with: RuntimeSettings.encode(values))
        #expect(file.load() == RuntimeSettings.LoadResult(values: values))
        var status = stat()
        #expect(stat(bench.directory.file(RuntimeSettings.name), &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }
}
