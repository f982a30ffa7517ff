import ArgumentParser
internal import Base
import Fleet
import Glibc
internal import Linux

@main
struct BeekonFleet: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beekon-fleet",
        abstract: "A fleet that is not there: what so many vehicles with beekond ask of their server.",
        discussion: """
            The vehicles decide when to upload, when to try again and what to send with the code of beekond, in \
            simulated time, against a model of beekon-server. With --url they do so in real time, or faster, against a \
            real one. The same options and --seed always show the same.

            EXAMPLES:
              beekon-fleet 10000 --scenario power --chart power.svg
              beekon-fleet 50 --hours 2 --url http://127.0.0.1:8080/v1/batches --tokens tokens.txt --speed-up 60
            """,
        version: "0.2.0")

    @Argument(help: .init("How many, 1 to 1,000,000.", valueName: "vehicles"))
    var vehicles: Int

    @Option(
        help: .init(
            "Simulated hours, up to 168 (default: 4 to 30, as the scenario needs).", valueName: "hours"))
    var hours: Double?

    @Option(
        help:
            "What happens: day (nothing), outage (the server is down for an hour), power, network (a tenth of the fleet is without for half an hour), slow-server (it can do half of what is needed)."
    )
    var scenario = ScenarioName.day

    @Option(help: .init("Determines vehicles, roads and every random moment.", valueName: "n"))
    var seed: UInt64 = 1

    @Option(help: .init("Write requests over time as SVG.", valueName: "file"))
    var chart: String?

    @Flag(help: "Print a row of a Markdown table instead of sentences.")
    var row = false

    @OptionGroup(title: "A real server")
    var live: LiveOptions

    mutating func validate() throws {
        guard (1...1_000_000).contains(vehicles) else {
            throw ValidationError("\(vehicles) vehicles are out of range: give 1 to 1000000.")
        }
        if let hours, !(hours > 0 && hours <= 168) {
            throw ValidationError("--hours \(hours) is out of range: give hours above 0, up to 168.")
        }
        if live.url != nil, scenario != .day || chart != nil || row {
            throw ValidationError(
                "A real server takes part in the scenario day alone, without --chart and --row.")
        }
    }

    mutating func run() throws {
        do {
            try rehearse()
        } catch let failure as Failure {
            let line = Array("beekon-fleet: \(failure.message)\n".utf8)
            _ = Glibc.write(STDERR_FILENO, line, line.count)
            throw ExitCode(failure.exitCode)
        }
    }

    private func rehearse() throws {
        var plan = Fleet.Plan(vehicles: vehicles, scenario: scenario.scenario, hours: hours, seed: seed)
        if live.url != nil {
            var fleet = try LiveFleet(plan, live)
            return fleet.run()
        }
        let began = Clock.boot()
        if plan.scenario == .slowServer { plan.capacity = plan.capacity.slowed(Run.slowness(for: plan)) }
        let run = Run(plan)
        let report = FleetReport(run, seconds: Double(Clock.boot() - began) / 1e9)
        print(row ? report.row : report.text)
        if let chart { try write(Chart(run).svg, to: chart) }
        guard run.account.isBalanced else {
            throw Failure(
                70, "the account does not balance, which is a defect of beekon-fleet: \(run.account)")
        }
    }

    private func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw Failure(
                73,
                "cannot create \(path): \(Failure.reason). Give --chart a path in a folder you may write to.")
        }
        defer { fclose(file) }
        guard fputs(text, file) >= 0, fflush(file) == 0 else {
            throw Failure(74, "cannot write to \(path): \(Failure.reason). Make room or choose another path.")
        }
    }
}

/// The scenarios by their command-line names.
enum ScenarioName: String, CaseIterable, ExpressibleByArgument {
    case day, outage, power, network
    case slowServer = "slow-server"

    var scenario: Scenario { Scenario(rawValue: rawValue) ?? .day }
}

/// An error as one sentence that says what to do, with an exit status from sysexits.h.
struct Failure: Error {
    var exitCode: Int32
    var message: String

    init(_ exitCode: Int32, _ message: String) {
        (self.exitCode, self.message) = (exitCode, message)
    }

    static var reason: String { String(cString: strerror(errno)) }
}
