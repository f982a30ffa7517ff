import ControlProtocol
import ControlTool
import Foundation
import Testing

@testable import Doctor

/// The findings as they stand in terminals of 40, 80 and 200 columns, beside the screens of the other verbs.
/// `BEEKOND_SCREENS=write` writes them anew: look at what has changed before it is committed.
@Suite("the doctor's screens")
struct ScreenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../System/cli/screens")

    /// As many things wrong as can be at once.
    private static var bad: Facts {
        var facts = Samples.good
        facts.gpsd.contact = .failed("Connection refused")
        facts.status?.source.health = .disconnected
        facts.clock.isSynchronised = false
        facts.clock.service = "chronyd"
        facts.backend?.answer = .status(404)
        facts.backend?.reason = "no such tenant"
        facts.status?.sync.rejected = 20
        facts.status?.sync.rejection = .init(
            rejectedAt: "2026-06-15T11:34:10.000Z", httpStatus: 422,
            reason:
                "Unknown vehicle: vehicle \"truck-12\" is not registered for tenant acme (/locations/0, index 0)"
        )
        facts.status?.auth = .init(state: "dead", reason: "refused", failures: 3)
        var home = BackendFacts()
        (home.host, home.answer) = ("home.example", .status(200))
        facts.others = [.init("home-assistant", home)]
        return facts
    }

    @Test("each is as it is stored, and fits", arguments: ["doctor", "doctor-bad"], [40, 80, 200])
    func stored(name: String, width: Int) throws {
        let facts = name == "doctor" ? Samples.good : Self.bad
        let lines = Diagnosis(facts).lines(width: min(width, 100), palette: Palette(enabled: false))
        let text = lines.map { String($0.reversed().drop { $0 == " " }.reversed()) + "\n" }.joined()
        #expect(lines.allSatisfy { Text.columns($0) <= width })
        let file = Self.folder.appending(path: "\(name)-\(width).txt")
        if ProcessInfo.processInfo.environment["BEEKOND_SCREENS"] == "write" {
            try Data(text.utf8).write(to: file)
        }
        #expect(
            text == String(decoding: try Data(contentsOf: file), as: UTF8.self), "\(file.lastPathComponent)")
    }

    @Test("no word breaks at 40 columns")
    func words() {
        for facts in [Samples.good, Self.bad] {
            let sets = [200, 40].map { width in
                Set(
                    Diagnosis(facts).lines(width: width, palette: Palette(enabled: false))
                        .flatMap { $0.split(separator: " ") })
            }
            #expect(sets[1].subtracting(sets[0]).isEmpty, "\(sets[1].subtracting(sets[0]))")
        }
    }
}
