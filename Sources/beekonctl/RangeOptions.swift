import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

/// The selection of locations, common to `history` and `plot`.
struct RangeOptions: ParsableArguments {
    @OptionGroup var period: PeriodOptions

    @Option(help: "Only this session; beekonctl sessions lists them.")
    var session: String?

    func validate() throws {
        if let session, !Self.isID(session) {
            throw ValidationError("--session takes an id: beekonctl sessions lists them.")
        }
    }

    /// Whether the text is five groups of hexadecimal digits.
    private static func isID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    /// The selection in the interface's format.
    func parameters(_ clock: LocalClock) throws -> Wire.GetLocations.Parameters {
        let (first, end) = try period.range(clock)
        return .init(from: first, to: end, sessionId: session)
    }

    /// Streams the locations page by page. Progress is shown on stderr if that is a terminal and nothing else is
    /// drawn there.
    ///
    /// - Parameter isBusy: whether the output itself goes to the terminal.
    /// - Returns: the number of locations.
    func stream(
        _ common: CommonOptions, _ parameters: Wire.GetLocations.Parameters, isBusy: Bool,
        _ body: ([Wire.Location]) throws -> Void
    ) throws -> Int {
        var client = try common.connect()
        let progress = Progress.onTerminal(isBusy: isBusy)
        var count = 0
        do {
            try client.stream(Wire.GetLocations.self, parameters, timeoutSeconds: 60) { page in
                try body(page.locations)
                count += page.locations.count
                progress.show("\(Quantity.count(count)) locations")
                return true
            }
        } catch let failure as ClientFailure where count > 0 {
            throw Failure(failure.message + "; the history is incomplete", exitCode: failure.exitCode)
        }
        return count
    }

    /// Explains an empty result, which is correct yet surprising where uploaded rows leave the store.
    func explainEmptiness(_ common: CommonOptions) {
        let status = try? fetch(Wire.GetStatus.self, common).status
        let stored = status?.store.locations ?? 0
        var message =
            session == nil
            ? "no stored locations in this range" : "no stored locations of this session in this range"
        if stored > 0 { message += "; \(Quantity.count(stored)) are stored in all" }
        if stored == 0, let status, status.sync.state == .disabled, status.state != .tracking {
            message = "nothing is stored, and nothing is being tracked: beekonctl start begins"
        }
        let settings = try? fetch(Wire.GetConfig.self, common).settings
        let keeps = settings?.contains { $0.key == "store.keep_uploaded" && $0.value == .bool(true) } ?? false
        if let status, status.sync.state != .disabled, !keeps {
            message += ": rows leave the store when the server acknowledges them; "
            message += "set store.keep_uploaded = true to keep them"
        }
        CommonOptions.warn(message)
    }

    /// Uses a connection of its own: the first one may have ended with its stream.
    private func fetch<M: ControlMethod>(_ method: M.Type, _ common: CommonOptions) throws -> M.Result
    where M.Parameters == Wire.Empty {
        var client = try common.connect()
        return try client.call(method, .init())
    }
}
