import ControlProtocol
import Testing

@testable import ControlTool

@Suite("destinations")
struct DestinationTests {
    private let plain = Palette(enabled: false)
    private let clock = ScreenSamples.clock

    private static func destination(
        _ name: String, format: String? = "beekon", orphaned: Bool = false,
        _ change: (inout Wire.SyncStatus) -> Void = { _ in }
    ) -> Wire.Destination {
        var sync = ScreenSamples.sync
        change(&sync)
        return Wire.Destination(
            name: name, format: orphaned ? nil : format, deliver: orphaned ? nil : "all", orphaned: orphaned,
            dropped: 0,
            sync: sync, auth: .init(state: "none", failures: 0))
    }

    private static let several = [
        destination("main"),
        destination("home", format: "owntracks") {
            $0.state = .failed
            $0.failure = "auth"
            $0.lastHttpStatus = 401
            $0.rejected = 3
        },
        destination("old", orphaned: true) { $0.lastSuccess = nil },
    ]

    private func table(_ destinations: [Wire.Destination], columns: Int? = nil) -> [String] {
        DestinationText.table(destinations, clock: clock, palette: plain, columns: columns)
    }

    @Test("a table of 80 columns")
    func table() {
        #expect(
            table(Self.several) == [
                "NAME           FORMAT    DELIVER STATE     PENDING  OLDEST LAST SUCCESS REJECTED",
                "main           beekon    all     pending       120  33 min       12 min        0",
                "home           owntracks all     failed        120  33 min       12 min        3",
                "old            -         -       orphaned      120  33 min            -        0",
            ])
    }

    @Test("a terminal cuts long names, a pipe has them whole; hostile ones are harmless")
    func names() {
        let long = String(repeating: "n", count: 32)
        let rows = [Self.destination(long), Self.destination("\u{1B}[2J") { $0.pending = .max }]
        #expect(table(rows, columns: 80).allSatisfy { $0.count <= 80 && !$0.contains("\u{1B}") })
        #expect(table(rows)[1].hasPrefix(long + " "))
        #expect(table(rows, columns: 120)[1].hasPrefix(long + " "))
    }

    @Test("destinations that only have to be waited for share one piece of advice")
    func advice() {
        func advice(_ names: String...) -> [String] {
            var status = ScreenSamples.status
            status.destinations = names.map {
                Self.destination($0) { sync in sync.lastError = "the server answers 503" }
            }
            return Advice.all(status, clock: clock)
        }
        #expect(
            advice("main", "home") == [
                "The upload to home is failing at the moment and will be retried: beekonctl doctor shows where it gets stuck. Nothing is lost: 120 locations are kept."
            ])
        #expect(
            advice("a", "b", "c") == [
                "The uploads to a, b and c are failing at the moment and will be retried: beekonctl doctor shows where they get stuck. Nothing is lost."
            ])
    }

    @Test("the status has a line for each further destination, and says what is wrong with it")
    func status() {
        var status = ScreenSamples.status
        let alone = StatusScreen(status, clock: clock, palette: plain).lines()
        status.destinations = [Self.destination("main")]
        #expect(StatusScreen(status, clock: clock, palette: plain).lines() == alone)
        status.destinations = Self.several
        let lines = StatusScreen(status, clock: clock, palette: plain).lines()
        #expect(lines.contains("Also to   home (owntracks): failed (auth), 120 pending, oldest 33 min ago"))
        #expect(lines.contains("          old: orphaned, 120 pending, oldest 33 min ago"))
        let text = lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
        for hint in [
            "! The server of home refuses our credentials (HTTP 401): correct [destination.home.headers]",
            "then beekonctl sync home", "beekonctl rejected list --destination home",
            "! old is not configured any more, and 120 locations wait for it",
            "beekonctl destination forget old",
        ] {
            #expect(text.contains(hint), "\(hint): \(text)")
        }
    }

    @Test("one that waits for a route that is not metered, and comes near the cap")
    func deferred() {
        var status = ScreenSamples.status
        status.destinations = [
            Self.destination("main"), Self.destination("home") { $0.state = .deferred },
        ]
        #expect(table(status.destinations)[2].contains(" deferred "))
        let lines = StatusScreen(status, clock: clock, palette: plain).lines()
        #expect(lines.contains("Also to   home (beekon): deferred, 120 pending, oldest 33 min ago"))
        #expect(!lines.contains { $0.contains("metered") })
        status.destinations[1].sync.lastError = "the upload waits"
        let text = StatusScreen(status, clock: clock, palette: plain).lines().joined(separator: " ")
            .split(separator: " ").joined(separator: " ")
        #expect(
            text.contains("waits for a route that is not metered, and 120 locations come near the cap"),
            "\(text)")
        #expect(text.contains("beekonctl sync home sends them now"), "\(text)")
    }

    @Test(
        "where a request has one row there is no batch to be made smaller", arguments: ["overland", "osmand"])
    func size(format: String) {
        for failures in [0, 3] {
            let home = Self.destination("home", format: format) {
                $0.state = .failed
                ($0.failure, $0.lastHttpStatus, $0.oversizedFailures) = ("permanent", 413, failures)
            }
            let advice = UploadAdvice(sync: home.sync, auth: home.auth, of: home.name, format: home.format)
                .urgent.joined()
            #expect(advice.contains("destination.home.batch_size") == (format == "overland"), "\(advice)")
        }
    }

    @Test(
        "what a broker says has advice of its own",
        arguments: [
            (135, "auth", "correct destination.home.username, password or device_id"),
            (151, "permanent", "refuses a message (MQTT 151)"),
            (16, nil, "set destination.home.accept_unsubscribed"),
        ] as [(Int, String?, String)])
    func broker(code: Int, failure: String?, hint: String) {
        let home = Self.destination("home", format: "owntracks") {
            $0.state = failure == nil ? .pending : .failed
            ($0.failure, $0.lastHttpStatus, $0.lastMqttCode, $0.lastError) = (failure, nil, code, "refused")
        }
        let advice = UploadAdvice(sync: home.sync, auth: home.auth, of: home.name).urgent
        #expect(advice.contains { $0.contains(hint) }, "\(advice)")
    }

    @Test(
        "a line of the status fits 80 columns, whatever the daemon sends",
        arguments: ["auth", "dead_letters_full", String(repeating: "x", count: 200)])
    func width(failure: String) {
        for name in ["a", String(repeating: "n", count: 32), String(repeating: "\u{1B}", count: 99)] {
            let summary = DestinationText.summary(
                Self.destination(name, format: "owntracks") {
                    $0.state = .failed
                    $0.failure = failure
                }, clock: clock, palette: plain)
            #expect(summary.count <= 70, "\(summary)")
        }
    }

    @Test("main without a url is an orphan only while something waits for it")
    func mainWithoutAddress() {
        var status = ScreenSamples.status
        var main = Self.destination("main", orphaned: true) {
            $0.state = .disabled
            $0.pending = 0
        }
        (status.sync, status.destinations) = (main.sync, [main, Self.destination("home")])
        #expect(table(status.destinations)[1].contains(" disabled "))
        let lines = StatusScreen(status, clock: clock, palette: plain).lines()
        #expect(lines.contains("Sync      disabled (no sync.url)"))
        #expect(!lines.contains { $0.hasPrefix("! ") })
        main.sync.pending = 7
        status.destinations[0] = main
        #expect(table(status.destinations)[1].contains(" orphaned "))
        #expect(
            StatusScreen(status, clock: clock, palette: plain).lines().contains {
                $0.contains("main is not configured any more")
            })
    }

    @Test("where only the newest location goes nothing is pending, unless it was owed before")
    func latest() {
        var lane = Self.destination("live") { $0.pending = 0 }
        (lane.deliver, lane.sync.oldestPending, lane.sync.state) = ("latest", nil, .idle)
        var status = ScreenSamples.status
        status.destinations = [Self.destination("main"), lane]
        #expect(table(status.destinations)[2].hasPrefix("live           beekon    latest  idle            0"))
        func lines() -> [String] { StatusScreen(status, clock: clock, palette: plain).lines() }
        #expect(lines().contains("Also to   live (beekon): idle, only the newest location"))
        #expect(!lines().contains { $0.contains("! live") })
        (lane.orphaned, lane.sync.pending) = (true, 7)
        status.destinations[1] = lane
        #expect(table(status.destinations)[2].hasPrefix("live           beekon    latest  idle            7"))
        #expect(lines().contains("Also to   live (beekon): idle, 7 of before"))
        let text = lines().joined(separator: " ").split(separator: " ").joined(separator: " ")
        #expect(
            text.contains("! live is only sent the newest location now, and 7 locations wait for it"),
            "\(text)")
        #expect(text.contains("beekonctl destination forget live"))
        // main.
        (status.destinations[0].deliver, status.sync.state) = ("latest", .idle)
        #expect(
            lines().contains { $0.contains("idle, only the newest location; 120 are kept here") },
            "\(lines())")
    }

    @Test("an event says whose it is, unless it is main's")
    func events() {
        func line(_ event: Wire.Event) -> String? {
            EventText.lines(event, clock: clock, palette: plain).first
        }
        let sync = ScreenSamples.sync
        #expect(
            line(.init(kind: "sync", sync: sync, destination: "home"))
                == "12:34:10 sync     home: 120 pending")
        #expect(line(.init(kind: "sync", sync: sync, destination: "main")) == "12:34:10 sync     120 pending")
        let valid = Wire.AuthStatus(state: "valid", failures: 0)
        #expect(
            line(.init(kind: "auth", auth: valid, destination: "home")) == "12:34:10 auth     home: valid")
        var failing = sync
        failing.lastError = String(repeating: "long ", count: 50)
        let long = String(repeating: "n", count: 99)
        #expect(line(.init(kind: "sync", sync: failing, destination: long))?.count == 80)
    }

    @Test("which destination is meant, and which may be forgotten")
    func choice() throws {
        var status = ScreenSamples.status
        status.destinations = Self.several
        #expect(try status.destination(named: "home").name == "home")
        #expect(try status.destination(named: nil).name == "main")
        #expect(try ScreenSamples.status.destination(named: nil).sync == ScreenSamples.sync)
        let unknown = #expect(throws: Failure.self) { _ = try status.destination(named: "nowhere") }
        #expect(unknown?.message == "there is no destination \"nowhere\": beekonctl destinations lists them")
        #expect(unknown?.exitCode == 64)
        let orphan = try status.orphan(named: "old")
        #expect(
            DestinationText.question(orphan)
                == "Forget old, and with it 120 pending and 0 rejected locations?")
        for (name, hint) in [
            ("home", "[destination.home] out of the configuration"), ("main", "take [sync] out"),
        ] {
            let refused = #expect(throws: Failure.self) { _ = try status.orphan(named: name) }
            #expect(refused?.message.contains(hint) == true)
        }
    }

    @Test("a daemon that refuses a destination: the message names it")
    func refusals() throws {
        let refused = ControlError.invalidParameter("destination")
        let failure = try #require(Failure(refused, naming: "hom\u{1B}e"))
        #expect(
            failure.message.hasPrefix(
                "there is no destination \"hom\\u{1b}e\", or it is not configured any more"))
        #expect(failure.exitCode == 64)
        #expect(Failure(refused, naming: nil)?.exitCode == 76)
        #expect(
            Failure(.invalidTime(value: "x") as ControlError, naming: "home")?.message.contains("ISO-8601")
                == true)
    }

    @Test("the outcome of an upload names the server and its settings")
    func outcome() {
        let result = Wire.Sync.Result(outcome: "auth", uploaded: 0, pending: 2)
        #expect(
            SyncOutcome.text(result, of: "home")
                == "the server of home refuses our credentials; 0 uploaded, 2 pending: correct [destination.home.headers] or "
                + "[destination.home.auth]")
        #expect(SyncOutcome.text(result, of: "main") == SyncOutcome.text(result))
        let names = DestinationNames("home")
        #expect(names.credentials(format: "owntracks").contains("home.username and password"))
    }
}
