import ControlProtocol
import ControlTool
import Testing

@Suite("commands of servers")
struct CommandTextTests {
    private let clock = ScreenSamples.clock
    private let done = Wire.ServerCommand(
        id: "c-17", command: "locate", origin: "main", batch: "0190d4e2", state: "done",
        receivedAt: "2026-06-15T12:30:00.000Z", doneAt: "2026-06-15T12:30:02.000Z", ok: true,
        result: .object(["location": .object([:])]), delivered: true)
    private let refused = Wire.ServerCommand(
        id: "a\u{1B}much-longer-id-than-fits", command: "start", origin: "main", batch: "0190d4e2",
        state: "done", receivedAt: "2026-06-15T12:31:00.000Z", doneAt: "2026-06-15T12:31:00.000Z", ok: false,
        error: "stopped_by_person", delivered: false)
    private let waiting = Wire.ServerCommand(
        id: "c-18", command: "stop", origin: "fleet", batch: "0190d4e2", state: "received",
        receivedAt: "2026-06-15T12:32:00.000Z")

    @Test("a table, cut to the terminal")
    func table() {
        let lines = CommandText.table([done, refused, waiting], clock: clock, columns: 100)
        #expect(
            lines == [
                "TIME (UTC)          ORIGIN   COMMAND          STATE   ID           RESULT",
                "2026-06-15 12:30:00 main     locate           done    c-17         {\"location\":{}}",
                "2026-06-15 12:31:00 main     start            refused a\\u{1b}much… stopped_by_person (to be sent)",
                "2026-06-15 12:32:00 fleet    stop             waiting c-18         -",
            ])
        let narrow = CommandText.table([done, refused, waiting], clock: clock, columns: 80)
        #expect(narrow.allSatisfy { $0.count <= 80 })
        // A script gets all of it.
        let whole = CommandText.table([refused], clock: clock, columns: nil)
        #expect(whole[1].contains("a\\u{1b}much-longer-id-than-fits"))
    }

    @Test("an event is one line, with its destination unless that is main")
    func event() {
        func line(_ event: Wire.Event) -> [String] {
            EventText.lines(event, clock: clock, palette: Palette(enabled: false))
        }
        #expect(
            line(.init(kind: "command", command: done, destination: "main"))
                == ["12:34:10 command  locate c-17: done"])
        var short = refused
        short.id = "c-9"
        #expect(
            line(.init(kind: "command", command: short, destination: "fleet"))
                == ["12:34:10 command  fleet: start c-9: stopped_by_person"])
        #expect(line(.init(kind: "command", command: refused)).allSatisfy { $0.count <= 80 })
    }

    @Test("the status says what is queued, and nothing where nothing is")
    func status() {
        func lines(_ commands: Int?, _ results: Int?) -> [String] {
            var status = ScreenSamples.status
            var sync = status.sync
            (sync.commands, sync.results) = (commands, results)
            status.destinations = [
                .init(
                    name: "main", format: "beekon", deliver: "all", orphaned: false, dropped: 0, sync: sync,
                    auth: status.auth)
            ]
            let screen = StatusScreen(status, clock: clock, palette: Palette(enabled: false))
            return screen.lines().filter { $0.hasPrefix("Commands") }
        }
        #expect(lines(nil, nil) == [])
        #expect(lines(2, nil) == ["Commands  2 to be run"])
        #expect(lines(1, 1234) == ["Commands  1 to be run, 1,234 done, their results to be sent"])
    }
}
