import ControlProtocol
import Testing

@testable import ControlTool

@Suite("units for people")
struct UnitsTests {
    @Test(
        "lengths and speeds",
        arguments: [
            (Units.metric, "999 m", "1.6 km", "1234 km", "72.0 km/h", "±12 m"),
            (.imperial, "0.6 mi", "1.0 mi", "767 mi", "44.7 mph", "±39 ft"),
            (.nautical, "999 m", "0.9 nmi", "666 nmi", "38.9 kn", "±12 m"),
        ])
    func units(
        units: Units, near: String, mile: String, far: String, speed: String, accuracy: String
    ) {
        #expect(units.distance(999) == near)
        #expect(units.distance(1609.344) == mile)
        #expect(units.distance(1_234_000) == far)
        #expect(units.speedText(20) == speed)
        #expect(units.accuracy(12) == accuracy)
    }

    @Test("what a socket may send never ends the program")
    func extremes() {
        for units in Units.allCases {
            for value in [0, -1, 1e300, -1e300, .greatestFiniteMagnitude, .leastNonzeroMagnitude] {
                _ = (units.distance(value), units.speedText(value), units.accuracy(value))
            }
        }
    }

    @Test("the setting of another version, or none, is metric")
    func setting() {
        func units(_ value: JSONValue?) -> Units {
            Units(value.map { [.init(key: Units.key, value: $0, origin: "default")] } ?? [])
        }
        #expect(units(nil) == .metric && units(.string("stones")) == .metric && units(.integer(3)) == .metric)
        #expect(units(.string("nautical")) == .nautical)
    }
}

@Suite("texts in narrow terminals")
struct NarrowTextTests {
    @Test("a table leaves out what is least needed, and never what is needed most")
    func table() {
        let columns: [Table.Column] = [
            .init(title: "NAME", width: 6, worth: 9), .init(title: "A", width: 3, isRight: true, worth: 2),
            .init(title: "B", width: 3, isRight: true, worth: 1), .init(title: "LAST", width: 4, worth: 5),
        ]
        let cells = ["home", "1", "2", "long text"]
        #expect(Table(columns, width: nil).row(cells) == "home     1   2 long text")
        #expect(Table(columns, width: 19).row(cells) == "home     1   2 long text")
        #expect(Table(columns, width: 18).row(cells) == "home     1 long text")
        #expect(Table(columns, width: 14).header == "NAME   LAST")
        #expect(Table(columns, width: 1).header == "NAME")
        #expect(Table(columns, width: 19).row([]).hasPrefix("      "))
    }

    @Test("a text with colours breaks where one without would, and no sequence is broken")
    func styled() {
        let palette = Palette(enabled: true)
        let text = palette.good("tracking for") + " the " + palette.bad("server")
        #expect(Text.styledColumns(text) == "tracking for the server".count)
        let lines = Text.wrapStyled(text, width: 12)
        #expect(lines.map(Text.styledColumns) == [12, 10])
        #expect(lines.joined(separator: " ") == text)
        #expect(Text.wrapStyled(text, width: 23) == [text])
        #expect(Text.wrapStyled("aa bbbbbbbb c", width: 4) == ["aa", "bbbb", "bbbb", "c"])
    }

    @Test("what belongs together stays on a line")
    func clauses() {
        let clauses = ["last success 4 min 0 s ago", "next in 2 min 0 s"]
        #expect(Text.wrap(clauses: clauses, width: 80) == [clauses.joined(separator: ", ")])
        #expect(Text.wrap(clauses: clauses, width: 30) == [clauses[0] + ",", clauses[1]])
        #expect(Text.wrap(clauses: clauses, width: 12).allSatisfy { $0.count <= 12 })
        #expect(Text.wrap(clauses: [], width: 12).isEmpty)
    }
}

@Suite("the check for monitors")
struct HealthCheckTests {
    private func check(_ change: (inout Wire.Status) -> Void) -> (HealthCheck.Result, Int32) {
        var status = ScreenSamples.status
        (status.sync.pending, status.sync.state) = (0, .idle)
        change(&status)
        let found = HealthCheck(status, clock: ScreenSamples.clock)
        #expect(found.problems.isEmpty == (found.result == .ok))
        return (found.result, found.exitCode)
    }

    @Test("what stands still fails, what wants attention is degraded")
    func results() {
        #expect(check { _ in } == (.ok, 0))
        #expect(check { $0.degraded = ["clock"] } == (.degraded, 1))
        #expect(check { $0.sync.rejected = 2 } == (.degraded, 1))
        #expect(check { $0.source.health = .noFix } == (.degraded, 1))
        #expect(check { $0.source.health = .disconnected } == (.failing, 2))
        #expect(check { ($0.store.degraded, $0.degraded) = (true, ["storage"]) } == (.failing, 2))
        #expect(check { ($0.sync.state, $0.sync.failure) = (.failed, "permanent") } == (.failing, 2))
        #expect(check { $0.auth = .init(state: "dead", failures: 1) } == (.failing, 2))
        for (kind, result) in [
            (ClientFailure.Kind.unreachable, HealthCheck.Result.noDaemon), (.timedOut, .noDaemon),
            (.permissionDenied, .unknown), (.badReply, .unknown), (.badPath, .unknown), (.system, .unknown),
        ] {
            let found = HealthCheck(kind, message: "gone")
            #expect(found.result == result && found.exitCode == 3 && found.problems == ["gone"])
        }
    }
}
