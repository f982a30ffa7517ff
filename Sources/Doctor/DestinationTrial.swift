internal import Base
internal import ControlProtocol
package import ControlTool
internal import DaemonConfiguration
internal import Glibc
internal import Tracking
internal import Upload

/// One harmless request to a destination, and what the answer means. Made here and not in the daemon: it needs no right that
/// reading the configuration does not give, disturbs no drain, and works while beekond does not run. So it has no token.
package struct DestinationTrial {
    private let name: String
    private let destination: Settings.Destination
    private let status: Wire.Status?

    /// What came of it, as `--json` prints it.
    package struct Result: Encodable, Sendable {
        /// Name of the destination.
        package let destination: String
        /// `empty_batch` or `newest_location`.
        package let sent: String
        /// The HTTP status; nil when there was no answer.
        package let httpStatus: Int?
        /// The server accepted it, as far as the answer can be believed; with a broker: and it came back.
        package let accepted: Bool
        /// What happened, and what to do.
        package let text: String

        private enum CodingKeys: String, CodingKey {
            case destination, sent, accepted, text
            case httpStatus = "http_status"
        }
    }

    /// - Parameters:
    ///   - name: of the destination.
    ///   - socket: where beekond listens; it says where its configuration is, and which location is the newest.
    ///   - configuration: its file; nil: the one that it says, else the default.
    /// - Throws: a `Failure` when the configuration may not be read or is bad, or has no such destination.
    package init(to name: String, socket: String, configuration: String?) throws(Failure) {
        var client = try? ControlClient(path: socket)
        status = try? client?.call(Wire.GetStatus.self, .init()).status
        let settings = (try? client?.call(Wire.GetConfig.self, .init()).settings) ?? []
        let known = configuration ?? Examination.file(namedBy: settings.map(\.origin))
        let path = known ?? "/etc/beekond/beekond.toml"
        guard access(path, R_OK) == 0 || errno == ENOENT else {
            let code = errno
            guard Examination.isRefusal(code), !Host.user().isRoot else {
                throw Failure(Examination.cannotRead(path, code), exitCode: 78)
            }
            throw Failure(
                "\(path) may not be read: try sudo beekonctl destination test \(name), or join group beekond",
                exitCode: 77)
        }
        let loaded: Loaded
        do throws(ConfigurationError) {
            loaded = try Loader.layers(file: path, isDefaultPath: known == nil)
                .loaded(with: Examination.runtime(settings)).loaded
        } catch {
            throw Failure(error.problems.first?.description ?? "the configuration is bad", exitCode: 78)
        }
        guard let destination = loaded.settings.destination(name) else {
            throw Failure(unknownDestination: name)
        }
        self.name = name
        self.destination = destination
    }

    private var sendsNewest: Bool { destination.sync.harmless == .newestLocation }

    /// What is asked before a location is sent, which the server stores once more; nil when nothing is stored there.
    package var question: String? {
        guard sendsNewest, let newest = status?.lastLocation else { return nil }
        let url = Settings.redacted(url: destination.sync.url)
        let effect =
            destination.sync.mqtt == nil
            ? "It is stored there once more." : "Every subscriber gets it once more."
        return "Send the newest location, of \(newest.timestamp), to \(name) (\(url))? \(effect)"
    }

    /// Sends it, and waits for the answer.
    ///
    /// - Throws: a `Failure` when there is nothing to send.
    package func run() throws(Failure) -> Result {
        let sync = destination.sync
        let newest = status?.lastLocation.flatMap { Location($0) }
        guard !sendsNewest || newest != nil else {
            throw Failure(
                "\(name) (\(sync.format.name.rawValue)) takes no empty request, and beekond knows no location: beekonctl start, "
                    + "and wait for a fix",
                exitCode: 69)
        }
        let installID = status?.installId ?? Host.installID(in: "/var/lib/beekond")
        guard let (id, request) = BackendProbe.harmless(sync, installID: installID, newest: newest)
        else { throw Self.noMemory }
        guard sync.mqtt == nil else {
            guard let found = BackendProbe.echo(request, destination, installID: installID) else {
                throw Self.noMemory
            }
            return result(nil, found.verdict == .accepted && found.hasReturned, text(found))
        }
        guard let outcome = BackendProbe.exchange(request, id: id, sync) else { throw Self.noMemory }
        switch outcome {
        case .judged(let judgement):
            return result(judgement.status, judgement.verdict == .accepted, text(judgement, request.format))
        case .failed(let failure):
            let text =
                failure.kind == .clock
                ? Self.clock
                : failure.wasSent && !failure.isTimeout && request.format.traits.isForeign
                    ? request.format.advice(.closed)
                    : Self.noAnswer(failure.message)
            return result(nil, false, text)
        }
    }

    private static let noMemory = Failure("there is no memory for a request", exitCode: 71)
    private static let clock = "The certificate is not valid yet by this machine's clock: set the clock."

    private static func noAnswer(_ words: String) -> String {
        "There is no answer (\(words)): beekonctl doctor shows how far it gets."
    }

    private func text(_ found: MQTTEcho.Finding) -> String {
        guard let verdict = found.verdict else {
            return found.isClock ? Self.clock : Self.noAnswer(found.words)
        }
        let advice = found.advice.map { ": " + $0 + "." } ?? "."
        guard verdict == .accepted else {
            return "\(found.words.prefix(1).uppercased())\(found.words.dropFirst())\(advice)"
        }
        if let renamed = found.renamed {
            return "The broker has the message, and hands it on as \(renamed)" + advice
        }
        return found.hasReturned
            ? "\(name) accepts the newest location, and it came back" + advice
            : "The broker has the message, and does not return it" + advice
    }

    private func result(_ status: Int?, _ isAccepted: Bool, _ text: String) -> Result {
        Result(
            destination: name, sent: sendsNewest ? "newest_location" : "empty_batch", httpStatus: status,
            accepted: isAccepted, text: Text.safe(text))
    }

    private func text(_ judgement: Judgement, _ format: Format) -> String {
        let sent = sendsNewest ? "the newest location" : "an empty batch"
        if judgement.verdict == .unauthorised, destination.sync.auth != nil || destination.sharesMainTokens {
            return
                "The server refuses \(sent) without a token (\(judgement.status)), which only beekond has: "
                + "beekonctl sync \(name) shows what a real location gets."
        }
        if let cause = Format.Cause(judgement) {
            return format.advice(cause) + (judgement.reason.map { " It says: \($0)" } ?? "")
        }
        let accepts = "\(name) accepts \(sent) (\(judgement.status))"
        guard judgement.isSilent else { return accepts + "." }
        return accepts
            + " without a word on whether it was taken: where the server answers {\"result\":\"ok\"} to what it "
            + "stores, set accept_member = \"result\"."
    }
}

extension Location {
    /// nil for what no version of beekond says.
    fileprivate init?(_ wire: Wire.Location) {
        guard let id = UUIDv7(wire.id), let time = Timestamp(iso8601: wire.timestamp),
            let coordinate = Coordinate(latitude: wire.latitude, longitude: wire.longitude)
        else { return nil }
        self.init(
            id: id, session: wire.sessionId.flatMap { UUIDv7($0) },
            fix: Fix(
                time: time, mode: wire.altitude == nil ? 2 : 3, coordinate: coordinate,
                accuracy: wire.accuracy, speed: wire.speed, bearing: wire.bearing, altitude: wire.altitude,
                isMock: wire.isMock),
            trigger: Trigger(rawValue: wire.trigger) ?? .interval,
            motion: MotionState(rawValue: wire.motion) ?? .unknown)
    }
}
