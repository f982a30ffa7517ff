import ArgumentParser
internal import Base
import ControlProtocol
import ControlTool
import Glibc

/// The options common to all verbs, and error handling.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print JSON instead of text.")
    var json = false

    @Option(help: "The socket of beekond (default: $BEEKOND_SOCKET, else /run/beekond/beekond.sock).")
    var socket: String?

    func connect() throws -> ControlClient {
        try ControlClient(path: path)
    }

    /// Path of the daemon's socket.
    var path: String {
        if let socket { return socket }
        if let variable = getenv("BEEKOND_SOCKET"), variable.pointee != 0 { return String(cString: variable) }
        return ControlClient.defaultPath
    }

    /// Runs a verb, turning any error into one sentence and an exit code.
    ///
    /// - Parameter destination: the one that the user has named, if any.
    func run(for destination: String? = nil, _ verb: () throws -> Void) throws {
        do {
            try verb()
        } catch is Output.ReaderGone {
            // `beekonctl history | head` has all it wanted.
            return
        } catch {
            guard let failure = Failure(error, naming: destination) else { throw error }
            Self.warn(failure.message)
            throw ExitCode(failure.exitCode)
        }
    }

    /// Writes a line to stderr.
    static func warn(_ message: String) {
        let line = Array(Terminal.wrapped("beekonctl: \(message)", on: STDERR_FILENO).utf8)
        // If stderr is gone as well, there is nobody left to tell.
        _ = write(STDERR_FILENO, line, line.count)
    }

    /// Destinations that do not go by new settings yet, if there are any.
    static func warn(ofLate destinations: [String]?) {
        if let text = ConfigText.late(destinations) { warn(Text.safe(text)) }
    }

    /// How the upload to a destination does, while another connection waits; nil when that cannot be asked.
    func syncStatus(of name: String?) -> Wire.SyncStatus? {
        guard var client = try? connect() else { return nil }
        let status = try? client.call(Wire.GetStatus.self, .init(), timeoutSeconds: 1).status
        return try? status?.destination(named: name).sync
    }

    /// How many wait for a destination, or for all that are waited for, while another connection does; nil when that cannot be
    /// asked.
    ///
    /// - Parameter name: nil: main, or all others where main has no url.
    func pending(of name: String?, all: Bool = false) -> Int? {
        guard !all else { return pending { _ in true } }
        guard let sync = syncStatus(of: name) else { return nil }
        return name == nil && sync.state == .disabled
            ? pending { $0.name != DestinationNames.main } : sync.pending
    }

    private func pending(of isMeant: (Wire.Destination) -> Bool) -> Int? {
        guard var client = try? connect(),
            let status = try? client.call(Wire.GetStatus.self, .init(), timeoutSeconds: 1).status
        else { return nil }
        // Whatever the daemon sends, this must not trap.
        return status.destinations.filter(isMeant).reduce(0) { $0 &+ $1.sync.pending }
    }

    /// When what was put into the queue goes, behind a colon.
    func whenItGoes(to name: String?) -> String {
        var client = try? connect()
        let settings = (try? client?.call(Wire.GetConfig.self, .init(), timeoutSeconds: 1).settings) ?? []
        return SyncOutcome.begun(syncStatus(of: name)?.state, of: name, settings: settings)
    }

    /// Prints the parameters of a reply as JSON, or `text`, whose lines are broken between words on a terminal.
    ///
    /// - Parameter isFormat: programs read the text, too.
    func print(
        _ value: some Encodable, isFormat: Bool = false, text: @autoclosure () -> [String]
    ) throws {
        var output = Output()
        if json {
            try output.line(try JSONLine.encode(value))
        } else {
            for line in text() {
                output.add(isFormat ? line + "\n" : Terminal.wrapped(line, on: STDOUT_FILENO))
            }
        }
        try output.finish()
    }

    static var palette: Palette {
        var environment: [String: String] = [:]
        for name in ["NO_COLOR", "TERM"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return Palette(
            enabled: Palette.wanted(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environment))
    }

    /// Width of tables; nil when stdout is not a terminal, so that scripts get complete lines.
    static var columns: Int? { isatty(STDOUT_FILENO) == 1 ? max(Terminal.size().columns, 20) : nil }

    /// The units that the configuration wants lengths and speeds to be shown in; not asked for where programs read.
    func units() -> Units {
        guard !json, var client = try? connect() else { return .metric }
        return Units((try? client.call(Wire.GetConfig.self, .init(), timeoutSeconds: 3).settings) ?? [])
    }

    static var clock: LocalClock { LocalClock(now: .now(), zone: .local) }
}

/// Asks for confirmation before something is deleted permanently.
///
/// Throws unless the answer is yes, and when there is no terminal to ask on.
///
/// - Parameters:
///   - verb: what is not done without a yes: `delete`.
///   - refusal: said after a no.
func confirm(_ question: String, to verb: String = "delete", refusal: String = "nothing deleted") throws {
    guard isatty(STDIN_FILENO) == 1 else {
        throw Failure(
            "cannot ask without a terminal: add --yes to \(verb) without confirmation", exitCode: 64)
    }
    let text = Array((Terminal.wrapped("\(question) [y/N]", on: STDERR_FILENO).dropLast() + " ").utf8)
    // On stderr: stdout may be a file meant only for the result.
    _ = write(STDERR_FILENO, text, text.count)
    guard ["y", "yes"].contains((readLine() ?? "").lowercased()) else {
        throw Failure(refusal, exitCode: 1)
    }
}

/// Parses a time argument into the interface's format.
func interfaceTime(_ text: String?, clock: LocalClock) throws -> String? {
    try text.map { try TimeArgument.instant($0, now: clock.now, zone: clock.zone).iso8601 }
}

/// Parses a range: either `last`, or from one time to another.
func interfaceRange(
    from: String?, to: String?, last: String?, clock: LocalClock
) throws -> (from: String?, to: String?) {
    var first = try interfaceTime(from, clock: clock)
    if let last {
        let seconds = try TimeArgument.duration(last)
        first = Timestamp(milliseconds: clock.now.milliseconds - seconds * 1000).iso8601
    }
    let end = try interfaceTime(to, clock: clock)
    if let first, let end, first > end {
        throw Failure("the range is empty: --from \(first) is after --to \(end)", exitCode: 64)
    }
    return (first, end)
}
