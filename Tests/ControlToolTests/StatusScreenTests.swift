import ControlProtocol
import ControlTool
import Testing

@Suite("the status screen")
struct StatusScreenTests {
    private func lines(_ status: Wire.Status, colour: Bool = false) -> [String] {
        StatusScreen(status, clock: ScreenSamples.clock, palette: Palette(enabled: colour)).lines()
    }

    @Test("a good day fits on one small screen")
    func goodDay() {
        #expect(
            lines(ScreenSamples.status) == [
                "beekond 0.1.0, up 3 d 4 h",
                "",
                "State     tracking since 2026-06-15 08:00:00, for 4 h 34 min",
                "Session   0190d4e0-1234-7000-8000-aabbccddeeff",
                "Receiver  ok, /dev/ttyS1, 3D fix, 9 of 14 satellites",
                "Last fix  37.774900, -122.419400 ±5 m, 9.0 km/h, 180°, moving",
                "          3 s ago, 2026-06-15 12:34:07",
                "Gate      15,230 fixes: 412 admitted, 14,000 too soon, 555 too near, 0 paused",
                "Store     1,234 locations, 1.2 MB",
                "Sync      120 pending, the oldest from 33 min ago",
                "          last success 12 min ago, next in 2 min 0 s",
                "          1,000 uploaded, 0 rejected, 3 retries, 123.5 kB sent",
                "Fences    2",
            ])
    }

    @Test("heartbeats: how they go, or why none is sent and what to do")
    func heartbeats() {
        var status = ScreenSamples.status
        status.sync.heartbeat = .init(
            intervalSeconds: 3600, last: "2026-06-15T12:01:00.000Z", next: "2026-06-15T12:57:10.000Z")
        let phrase = "          heartbeat every 1 h 00 min: last 33 min ago, next in 23 min"
        #expect(lines(status).contains(phrase), "\(lines(status))")
        status.sync.heartbeat = .init(
            intervalSeconds: 3600, pausedUntil: "2026-06-16T12:00:00.000Z", refusedStatus: 400)
        let paused = lines(status)
        #expect(
            paused.contains("          no heartbeats until 2026-06-16 12:00:00: the server answered 400"),
            "\(paused)")
        #expect(paused.contains { $0.contains("refuses heartbeats (HTTP 400)") })
        #expect(paused.allSatisfy { $0.count <= 80 })
    }

    @Test("where not all fits, what is wrong comes first, in a line each")
    func smallScreen() throws {
        let screen = StatusScreen(
            ScreenSamples.broken, clock: ScreenSamples.clock, palette: Palette(enabled: false))
        let whole = screen.lines()
        #expect(screen.lines(rows: whole.count) == whole)
        let small = screen.lines(rows: 23)
        #expect(small.prefix(3) == whole.prefix(3))
        let bullets = small.filter { $0.hasPrefix("! ") }
        #expect(bullets.count == whole.filter { $0.hasPrefix("! ") }.count)
        #expect(try #require(small.lastIndex { $0.hasPrefix("! ") }) < 23)
        #expect(small.allSatisfy { $0.count <= 80 })
        // Nothing but advice is lost.
        #expect(
            whole.prefix { $0 != "What is wrong, and what to do" }.allSatisfy {
                $0.isEmpty || small.contains($0)
            })
        let good = StatusScreen(
            ScreenSamples.status, clock: ScreenSamples.clock, palette: Palette(enabled: false))
        #expect(good.lines(rows: 3) == good.lines())
    }

    @Test("a bad day says what is wrong and what to do, within 80 columns and without control characters")
    func badDay() {
        let lines = lines(ScreenSamples.broken)
        for line in lines {
            #expect(line.count <= 80, "\(line)")
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
        // Without the line breaks, whose position does not matter.
        let text = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
        for hint in [
            "make room", "gpsd has no receiver", "correct [sync.headers]", "120 locations are kept",
            "put a new one", "5 locations were lost", "timedatectl", "beekond --check",
            "Degraded: \\u{1b}new", "(HTTP 401)",
        ] {
            #expect(text.contains(hint), "\(hint)")
        }
        // The time of a token that is refused says nothing.
        #expect(!text.contains("expired 34 min"))
        #expect(lines.count <= 45)
    }

    @Test("colours change nothing but colours")
    func colours() {
        let coloured = lines(ScreenSamples.broken, colour: true)
        #expect(coloured.contains { $0.contains("\u{1B}[1;31m") })
        let stripped = coloured.map { line in
            var text = ""
            var inside = false
            for character in line {
                if character == "\u{1B}" { inside = true }
                if !inside { text.append(character) }
                if inside && character == "m" { inside = false }
            }
            return text
        }
        #expect(stripped == lines(ScreenSamples.broken))
    }

    @Test("what a receiver has told again is shown where there is any")
    func repeated() {
        var status = ScreenSamples.status
        let endings: [(Int?, String)] = [(nil, "0 paused"), (0, "0 paused"), (7, "0 paused, 7 repeated")]
        for (count, ending) in endings {
            status.source.repeated = count
            let text = lines(status).joined(separator: " ").split(separator: " ").joined(separator: " ")
            #expect(text.contains(ending) && text.contains("repeated") == (count ?? 0 > 0))
        }
    }

    @Test("a daemon that was never started")
    func idle() {
        var status = ScreenSamples.status
        status.state = .idle
        status.sessionId = nil
        status.sessionStartedAt = nil
        status.lastLocation = nil
        status.source = .init(
            health: .released, mode: 0, timeSettled: false, fixes: 0, reconnects: 0, rollovers: 0,
            refusedTimes: 0)
        status.sync = .init(
            state: .disabled, pending: 0, uploaded: 0, rejected: 0, retries: 0, bytesSent: 0)
        let text = lines(status).joined(separator: "\n")
        #expect(text.contains("State     idle (beekonctl start begins tracking)"))
        #expect(text.contains("Last fix  none yet"))
        #expect(text.contains("Sync      disabled (no sync.url): locations stay on this machine"))
        #expect(!text.contains("What is wrong"))
    }

    @Test(
        "a degraded word without further explanation is still shown", arguments: ["storage", "auth", "new"])
    func unexplained(word: String) {
        var status = ScreenSamples.status
        status.degraded = [word]
        #expect(lines(status).contains { $0.contains("Degraded: \(word)") })
    }

    @Test("a due attempt is not shown in the past, and long durations stay within 80 columns")
    func due() {
        var status = ScreenSamples.status
        status.sync.nextAttempt = "2026-06-15T12:34:00.000Z"
        status.sync.lastAttempt = "2026-06-14T10:00:00.000Z"
        status.sync.lastSuccess = "2026-06-13T10:00:00.000Z"
        let lines = lines(status)
        #expect(lines.contains { $0.contains("next due now") })
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test("each health and each failure has its advice")
    func advice() {
        for health in Wire.SourceHealth.allCases where health != .ok {
            var status = ScreenSamples.status
            status.source.health = health
            #expect(lines(status).contains { $0.hasPrefix("! ") }, "\(health)")
        }
        for failure in ["auth", "rejected", "permanent", "new", nil] {
            var status = ScreenSamples.status
            status.sync.state = .failed
            status.sync.failure = failure
            #expect(lines(status).contains { $0.hasPrefix("! ") }, "\(failure ?? "none")")
        }
    }

    @Test("an upload that is being retried says where to look, and that nothing is lost")
    func retrying() {
        var status = ScreenSamples.status
        status.sync.lastError = "Couldn't connect to server"
        status.degraded = ["sync"]
        let words = lines(status).joined(separator: " ").split(separator: " ")
        let text = words.joined(separator: " ")
        #expect(text.contains("beekonctl doctor shows where") && text.contains("120 locations are kept"))
        #expect(!text.contains("Degraded: sync"))
    }
}
