import FoundationEssentials
import Testing

@testable import Daemon

@Suite("the log")
struct LogTests {
    /// The daemon's code, but for the list of events itself.
    private static let code: String = {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Daemon").standardized.path
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        let files = names.filter { $0.hasSuffix(".swift") && !$0.hasSuffix("/Log.swift") }
        return files.compactMap { try? String(contentsOfFile: folder + "/" + $0, encoding: .utf8) }.joined()
    }()

    /// The event is handed to what writes a line: to `Log` itself, or to a part that hands it on with its text.
    private static func isEmitted(_ name: String) throws -> Bool {
        let direct = try Regex("(?:Log\\.(?:error|warning|notice|info|debug)|warn)\\(\\s*\\.\(name),")
        let paired = try Regex("[(=?:] *\\.\(name), (?:\"|\\$0)")
        let handed = try Regex("(?:logOnce|debug)\\((?:[^{}]*?)\\.\(name)\\s*[,)]")
        let usual = try Regex("Log\\.Event = \\.\(name)\\b")
        return [direct, paired, handed, usual].contains { code.firstMatch(of: $0) != nil }
    }

    @Test("every event that the catalog explains is written somewhere", arguments: Log.Event.allCases)
    func emitted(event: Log.Event) throws {
        #expect(Self.code.count > 100_000)
        #expect(try Self.isEmitted("\(event)"))
    }

    @Test("an event that nobody writes would be found")
    func unheard() throws {
        #expect(try !Self.isEmitted("neverWritten"))
    }

    @Test("no two events share an id, whose form is the journal's")
    func ids() {
        let ids = Log.Event.allCases.map(\.rawValue)
        #expect(Set(ids).count == ids.count)
        #expect(ids.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
    }
}
