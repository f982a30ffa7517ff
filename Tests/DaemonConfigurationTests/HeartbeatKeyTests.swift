import Testing

@testable import DaemonConfiguration

@Suite("heartbeats and commands")
struct HeartbeatKeyTests {
    private static let commands = "[sync.commands]\nenabled = true\nallow = [\"start\", \"upload_log\"]\n"

    private static func text(_ lines: String = "", _ commands: String = commands) -> String {
        "[sync]\nurl = \"https://a.example/\"\n" + lines + commands
    }

    @Test("off by default; with commands one an hour, and whoever sets another gets it")
    func defaults() throws {
        func seconds(_ text: String) throws -> Double? {
            try Workshop().load(text).settings.sync?.heartbeatSeconds
        }
        #expect(try seconds(Self.text("", "")) == 0)
        #expect(try seconds(Self.text()) == 3600)
        #expect(try seconds(Self.text("heartbeat_seconds = 60\n")) == 60)
        #expect(try seconds(Self.text("heartbeat_seconds = 0\n", "[sync.commands]\nenabled = false\n")) == 0)
        // A format that has none.
        #expect(try seconds(Self.text("format = \"template\"\n")) == 0)
    }

    @Test("it is listed as the default that it is")
    func listed() throws {
        let loaded = try Workshop().load(Self.text())
        let entry = try #require(loaded.listing.first { $0.key == "sync.heartbeat_seconds" })
        #expect(entry.value == .number(3600))
        #expect(entry.origin == .default)
    }

    @Test("without one a stopped vehicle could never be started again")
    func none() throws {
        let problems = try Workshop().problems(Self.text("heartbeat_seconds = 0\n"))
        #expect(problems.count == 1)
        #expect(problems.first?.key == "sync.heartbeat_seconds" && problems.first?.line == 3)
        #expect(problems.first?.message.contains("could never start it again; use 60 to 86400") == true)
    }
}
