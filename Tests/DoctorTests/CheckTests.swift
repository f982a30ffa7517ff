import ControlProtocol
import Testing

@testable import ControlTool
@testable import Doctor

/// A change to the healthy facts, and the only check that must notice it.
struct Case: Sendable, CustomTestStringConvertible {
    let check: String
    let result: Finding.Result
    let words: String
    let change: @Sendable (inout Facts) -> Void

    var testDescription: String { "\(check): \(words)" }

    init(
        _ check: String, _ result: Finding.Result, _ words: String,
        _ change: @escaping @Sendable (inout Facts) -> Void
    ) {
        self.check = check
        self.result = result
        self.words = words
        self.change = change
    }
}

/// A line that cannot be read, with the sensor's advice.
private func failing(_ advice: String) -> Wire.VehicleStatus {
    .init(source: "gpio", ignition: "unknown", error: "open /dev/gpiochip0: not possible; \(advice)")
}

@Suite("the doctor's checks")
struct CheckTests {
    @Test("a good day: nothing is wrong, everything was checked")
    func good() {
        let report = Diagnosis(Samples.good)
        #expect(report.failures == 0)
        #expect(
            report.findings.allSatisfy { $0.result == .ok }, "\(report.findings.filter { $0.result != .ok })")
        #expect(
            report.findings.map(\.check) == [
                "beekond", "rights", "configuration", "gpsd", "receiver", "ModemManager", "fix", "satellites",
                "receiver time", "system clock", "clock at boot", "storage", "disk space", "DNS", "TCP",
                "TLS",
                "endpoint", "token", "backlog",
            ])
    }

    @Test("each fault is found by its check, and has a remedy", arguments: Cases.all)
    func fault(row: Case) throws {
        var facts = Samples.good
        row.change(&facts)
        let report = Diagnosis(facts)
        let finding = try #require(report.findings.first { $0.check == row.check })
        #expect(finding.result == row.result, "\(finding)")
        let said = finding.text + " " + (finding.remedy ?? "")
        #expect(said.contains(row.words), "\(said)")
        if row.result == .failed { #expect(finding.remedy?.isEmpty == false) }
        // One fault yields one failed line: all other checks are skipped or still pass.
        #expect(
            report.failures == (row.result == .failed ? 1 : 0),
            "\(report.findings.filter { $0.result == .failed })")
    }

    @Test("every report fits 80 columns and has no control characters", arguments: Cases.all)
    func width(row: Case) {
        var facts = Samples.good
        row.change(&facts)
        facts.configuration = "/etc/\u{1B}[2Jbeekond/" + String(repeating: "long/", count: 30)
        for line in Diagnosis(facts).lines(width: 80, palette: Palette(enabled: false)) {
            #expect(line.count <= 80 || !line.dropFirst(20).contains(" "), "\(line)")
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
    }

    @Test("who may read a configuration is not told that a right is missing, but what is wrong with it")
    func unasked() throws {
        var facts = Samples.good
        facts.backend?.answer = nil
        facts.status?.sync.lastHttpStatus = nil
        for (file, words) in [
            (Facts.File.broken(["beekond.toml:3: x"]), "the configuration has a mistake"),
            (.elsewhere, "the configuration is elsewhere"), (.unreadable, "no permission"),
        ] {
            facts.file = file
            let finding = try #require(Diagnosis(facts).findings.first { $0.check == "endpoint" })
            #expect(finding.result == .skipped)
            #expect(finding.text.contains(words), "\(finding)")
            #expect(finding.remedy?.contains("sudo") != true || file == .unreadable)
        }
        facts.user.isRoot = true
        for check in ["configuration", "endpoint"] {
            let finding = try #require(Diagnosis(facts).findings.first { $0.check == check })
            #expect(finding.text.contains("even by root"), "\(finding)")
            #expect(finding.remedy?.contains("sudo") == false, "\(finding)")
        }
    }

    @Test("dead letters of a further destination are found, too")
    func deadLetters() throws {
        var facts = Samples.good
        var backend = BackendFacts()
        (backend.host, backend.answer) = ("home.example", .status(200))
        facts.others = [.init("home", backend)]
        var home = Wire.Destination(
            name: "home", orphaned: false, dropped: 0, sync: Samples.status.sync, auth: Samples.status.auth)
        home.sync.rejected = 3
        home.sync.rejection = .init(rejectedAt: "2026-06-15T12:00:00.000Z", httpStatus: 400, reason: "why")
        facts.status?.destinations = [home]
        let finding = try #require(Diagnosis(facts).findings.last)
        #expect(finding.result == .failed)
        #expect(finding.text.contains("400: why"))
        #expect(finding.remedy?.contains("--destination home") == true)
    }

    @Test("that Home Assistant could not be told is a finding of its own")
    func homeAssistant() throws {
        var facts = Samples.good
        #expect(!Diagnosis(facts).findings.contains { $0.check == "Home Assistant" })
        facts.status?.sync.homeAssistant = "refused"
        facts.backend = nil
        var home = Wire.Destination(
            name: "home", orphaned: false, dropped: 0, sync: Samples.status.sync, auth: Samples.status.auth)
        home.sync.homeAssistant = "silent"
        facts.status?.destinations = [home]
        let findings = Diagnosis(facts).findings.filter { $0.check == "Home Assistant" }
        #expect(findings.map(\.text) == ["main: refused", "home: silent"])
        #expect(findings.allSatisfy { $0.result == .failed && $0.remedy?.contains("access list") == true })
    }

    @Test("each further destination has a line, and an orphan is named")
    func destinations() {
        var facts = Samples.good
        var backend = BackendFacts()
        (backend.host, backend.answer) = ("home.example", .status(200))
        facts.others = [.init("home", backend)]
        func last() -> Finding? { Diagnosis(facts).findings.last }
        #expect(
            last()
                == .ok(
                    "to home",
                    "home.example:443 accepts connections, the certificate is valid, answers 200 to an empty batch"
                ))
        facts.others[0].backend.answer = .status(401)
        #expect(last()?.result == .failed)
        #expect(last()?.remedy?.contains("[destination.home.headers]") == true)
        facts.others[0].backend.hasToken = true
        #expect(last()?.result == .ok)
        facts.others[0].backend.answer = .failed("SSL certificate problem", isClock: false)
        #expect(last()?.remedy?.contains("destination.home.ca_file") == true)
        facts.others[0].backend.nameFailure = "no such name"
        #expect(last()?.text == "DNS: home.example: no such name")
        #expect(last()?.remedy?.contains("[destination.home]") == true)
        (facts.others[0].backend.nameFailure, facts.others[0].backend.answer) = (nil, nil)
        #expect(last() == .ok("to home", "home.example:443 accepts connections"))
        var orphan = Wire.Destination(
            name: "old", orphaned: true, dropped: 0, sync: Samples.status.sync, auth: Samples.status.auth)
        orphan.sync.pending = 7
        facts.status?.destinations = [orphan]
        #expect(last()?.text == "not configured any more; 7 pending wait for it")
        #expect(last()?.result == .failed)
        // Nothing is queued for it any more, and something was.
        orphan.deliver = "latest"
        facts.status?.destinations = [orphan]
        #expect(last()?.text == "only sent the newest location now; 7 pending wait for it")
        #expect(last()?.remedy?.contains("destination.old.deliver = \"all\"") == true)
        orphan.deliver = nil
        // Those who have other destinations alone have nothing to mend.
        orphan.name = "main"
        orphan.sync.pending = 0
        facts.status?.destinations = [orphan]
        #expect(last()?.check == "to home")
    }

    @Test(
        "where the vehicle says something, it is said what, and what is wrong",
        arguments: [
            (Wire.VehicleStatus(source: "gpio", ignition: "off"), nil, Finding.Result.ok, "ignition off"),
            (
                .init(source: "power_supply", ignition: "on", externalPower: true), nil, .ok,
                "ignition on, external power"
            ),
            (.init(source: "none", ignition: "unknown", externalPower: false), nil, .ok, "no external power"),
            (.init(source: "manual", ignition: "unknown"), nil, .ok, "beekonctl ignition on"),
            (
                failing("there is no such chip: check vehicle.gpio_chip"), false, .failed,
                "check vehicle.gpio_chip"
            ),
            (failing("there is no such chip: check vehicle.gpio_chip"), true, .failed, "gpio-ignition.conf"),
            (failing("somebody else uses it: gpioinfo says who"), true, .failed, "gpioinfo says who"),
            (failing("give beekond the right to use it: DeviceAllow=/dev/c"), true, .failed, "DeviceAllow="),
            (
                .init(
                    source: "none", ignition: "unknown",
                    error:
                        "there is no power supply x: /sys/class/power_supply lists them; check vehicle.supply"
                ),
                nil, .failed, "check vehicle.supply"
            ),
        ] as [(Wire.VehicleStatus, Bool?, Finding.Result, String)])
    func vehicle(status: Wire.VehicleStatus, hasChip: Bool?, result: Finding.Result, words: String) throws {
        var facts = Samples.good
        facts.status?.vehicle = status
        facts.hasChip = hasChip
        let finding = try #require(Diagnosis(facts).findings.first { $0.check == "vehicle" })
        #expect(finding.result == result)
        #expect((finding.text + " " + (finding.remedy ?? "")).contains(words), "\(finding)")
        #expect((finding.remedy != nil) == (result == .failed))
    }

    @Test("where only the newest location goes there is no backlog")
    func latest() {
        var facts = Samples.good
        facts.settings["sync.deliver"] = .string("latest")
        facts.status?.sync.pending = 5000
        facts.status?.sync.oldestPending = "2020-01-01T00:00:00.000Z"
        #expect(
            Diagnosis(facts).findings.last
                == .ok("backlog", "none: deliver = \"latest\"; 5,000 are kept here"))
    }

    @Test("where a request has one location none is sent, and it is said what sends one")
    func oneRow() {
        var facts = Samples.good
        facts.backend?.answer = .unasked
        #expect(
            Diagnosis(facts).findings.contains {
                $0.check == "endpoint" && $0.result == .skipped
                    && $0.text.hasSuffix("beekonctl destination test main")
            })
        facts.others = [.init("van", facts.backend ?? BackendFacts())]
        #expect(Diagnosis(facts).findings.last?.result == .ok)
        #expect(Diagnosis(facts).findings.last?.text.hasSuffix("beekonctl destination test van") == true)
    }

    @Test("what a server of others answers is explained as its format would")
    func otherFormat() {
        var facts = Samples.good
        var backend = BackendFacts()
        (backend.format, backend.answer) = ("overland", .status(402))
        facts.others = [.init("home", backend)]
        func last() -> Finding? { Diagnosis(facts).findings.last }
        #expect(last()?.result == .failed)
        #expect(last()?.remedy?.contains("Dawarich asks for a subscription") == true)
        #expect(last()?.remedy?.contains("[destination.home]") == true)
        facts.others[0].backend.answer = .refused(200)
        #expect(last()?.result == .failed)
        for answer in [.phpError(200), .unread(200)] as [BackendFacts.Answer] {
            facts.others[0].backend.answer = answer
            #expect(last()?.result == .failed)
        }
        // Nothing is wrong, and something is to be known.
        facts.others[0].backend.answer = .silent(200)
        #expect(last()?.result == .skipped && last()?.remedy?.contains("accept_member") == true)
        facts.others[0].backend.answer = .status(200)
        #expect(last()?.result == .ok)
        facts.others[0].backend.hasOldUniqueID = true
        #expect(last()?.result == .skipped)
        #expect(last()?.remedy?.contains("destination.home.unique_id = \"device\"") == true)
        facts.others[0].backend.hasOldUniqueID = false
        // What accepts real batches may refuse an empty one.
        facts.others[0].backend.answer = .status(422)
        #expect(last()?.result == .failed)
        var home = Wire.Destination(
            name: "home", orphaned: false, dropped: 0, sync: Samples.status.sync, auth: Samples.status.auth)
        home.sync.lastSuccess = "2026-06-15T12:00:00.000Z"
        facts.status?.destinations = [home]
        #expect(last()?.result == .ok)
    }

    @Test("a broker is only logged in at")
    func broker() {
        var facts = Samples.good
        var backend = BackendFacts()
        (backend.url, backend.host, backend.port) = ("mqtt://broker.example", "broker.example", 1883)
        (backend.isTLS, backend.format) = (false, "owntracks")
        backend.answer = .broker(isAccepted: true, "the broker accepts the connection", advice: nil)
        facts.others = [.init("home", backend)]
        func last() -> Finding? { Diagnosis(facts).findings.last }
        #expect(
            last()
                == .ok(
                    "to home",
                    "broker.example:1883 accepts connections, the broker accepts the connection"))
        facts.others[0].backend.answer = .broker(isAccepted: false, "refused", advice: "check password")
        #expect(last()?.result == .failed)
        #expect(last()?.remedy == "check password (settings of [destination.home])")
        backend.answer = nil
        facts.backend = backend
        #expect(
            Diagnosis(facts).findings.contains { $0.check == "TLS" && $0.text == "not used: the url is mqtt" }
        )
    }

    @Test("the number of faults is reported")
    func summary() {
        var facts = Samples.good
        func last() -> String? { Diagnosis(facts).lines(width: 80, palette: Palette(enabled: false)).last }
        #expect(last() == "Nothing is wrong.")
        facts.gpsd.contact = .failed("x")
        #expect(last() == "1 thing is wrong.")
        facts.backend?.answer = .status(500)
        #expect(last() == "2 things are wrong.")
    }

    @Test("the main file is derived from any origin")
    func file() {
        #expect(Examination.file(namedBy: ["default", "/etc/b/b.d/10-x.toml:3"]) == "/etc/b/b.toml")
        #expect(Examination.file(namedBy: ["default", "/etc/b/b.toml:12", "runtime"]) == "/etc/b/b.toml")
        #expect(Examination.file(namedBy: ["default", "b.toml:12"]) == nil)
    }
}
