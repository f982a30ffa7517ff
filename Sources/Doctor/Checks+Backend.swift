internal import Base
internal import ControlProtocol
internal import ControlTool
internal import DaemonConfiguration
internal import Upload

extension Checks {
    /// A backlog older than this many upload intervals …
    private static let overdueIntervals = 3.0
    /// … and than this many seconds is more than a gap in coverage.
    private static let leastOverdueAge = 3600.0

    /// Findings from DNS to the backlog; a single one when no backend is configured.
    static func backend(_ facts: Facts) -> [Finding] {
        guard let backend = facts.backend else {
            return [.skipped("backend", "no sync.url: nothing is ever sent, locations stay on this machine")]
        }
        return [
            name(backend), connection(backend), encryption(backend),
            endpoint(backend, facts.status?.sync, of: DestinationNames.main, facts), token(facts),
            backlog(facts),
        ]
            + [
                deadLetters(facts.status?.sync, of: DestinationNames.main, facts),
                heartbeat(facts.status?.sync, backend, facts), uniqueID(backend),
            ].compactMap(\.self)
    }

    /// Seconds after which a refusal is no news any more.
    private static let refusalAge: Int64 = 86_400

    /// nil where there are none.
    ///
    /// - Parameter destination: whose they are.
    static func deadLetters(
        _ sync: Wire.SyncStatus?, of destination: String, _ facts: Facts
    ) -> Finding? {
        guard let sync, sync.rejected > 0 else { return nil }
        let name = "dead letters"
        let count =
            sync.rejected == 1
            ? "1 rejected location is" : "\(Quantity.count(sync.rejected)) rejected locations are"
        guard let newest = sync.rejection, let age = seconds(since: newest.rejectedAt, facts) else {
            return .ok(name, "\(count) kept")
        }
        let said = newest.httpStatus == 0 ? "no answer" : ServerWords.code(newest.httpStatus, newest.reason)
        let text =
            "\(count) kept, the newest from \(Quantity.duration(seconds: age)) ago"
            + (said.map { " (\($0))" } ?? "")
        guard age < refusalAge else { return .ok(name, text) }
        let option = DestinationNames(destination).option
        return .failed(
            name, text,
            "beekonctl rejected list\(option) shows them; once the server is fixed, beekonctl rejected retry\(option) sends "
                + "them again")
    }

    /// nil where there are no heartbeats.
    static func heartbeat(
        _ sync: Wire.SyncStatus?, _ backend: BackendFacts, _ facts: Facts
    ) -> Finding? {
        guard let heartbeat = sync?.heartbeat else { return nil }
        let text = HeartbeatText(heartbeat, clock: clock(facts))
        guard text.isPaused else { return .ok("heartbeat", text.summary) }
        return .failed(
            "heartbeat", text.summary,
            "let it accept batches without locations, or set \(backend.table).heartbeat_seconds to 0")
    }

    /// nil where it is settled what `unique_id` names.
    static func uniqueID(_ backend: BackendFacts) -> Finding? {
        guard backend.hasOldUniqueID else { return nil }
        return .skipped(
            "unique_id",
            "names each location, as id does; a later version will name the device with it, as the app Overland does",
            "set \(backend.table).unique_id = \"device\" where the server expects that, else \"location\" to keep it"
        )
    }

    static func name(_ backend: BackendFacts) -> Finding {
        let who = backend.isProxy ? "the proxy \(backend.host)" : backend.host
        guard let failure = backend.nameFailure else { return .ok("DNS", "\(who) has an address") }
        return .failed(
            "DNS", "\(who): \(failure)",
            "check /etc/resolv.conf and the network, or correct the name in [\(backend.table)]")
    }

    static func connection(_ backend: BackendFacts) -> Finding {
        let place = "\(backend.host):\(backend.port)"
        if backend.nameFailure != nil { return .skipped("TCP", "no address to connect to") }
        guard let failure = backend.connectFailure else { return .ok("TCP", "\(place) accepts connections") }
        return .failed(
            "TCP", "\(place): \(failure)",
            "check the route (ip route), firewalls, and whether the server is running")
    }

    private static func isConnected(_ backend: BackendFacts) -> Bool {
        backend.nameFailure == nil && backend.connectFailure == nil
    }

    static func encryption(_ backend: BackendFacts) -> Finding {
        guard backend.isTLS else {
            let scheme = Text.safe(backend.url.prefix { $0 != ":" }.lowercased())
            return .skipped("TLS", "not used: the url is \(scheme)")
        }
        guard isConnected(backend) else { return .skipped("TLS", "no connection") }
        switch backend.answer {
        case .status, .page, .phpError, .noAck, .refused, .unread, .silent, .broker:
            return .ok("TLS", "the certificate is valid")
        case .failed(let message, isClock: true):
            return .failed(
                "TLS", "the certificate is not valid yet by this machine's clock: \(message)",
                "set the clock: chrony, with gpsd as its source where there is no network")
        case .failed(let message, isClock: false) where isTLSFailure(message):
            return .failed(
                "TLS", message,
                "renew the server's certificate; for an authority of your own set \(backend.table).ca_file")
        case .failed: return .skipped("TLS", "the request failed for another reason")
        case .unasked, nil: return .skipped("TLS", "nothing was sent")
        }
    }

    /// libcurl reports no error classes beyond these message in its messages.
    private static func isTLSFailure(_ message: String) -> Bool {
        let message = message.lowercased()
        return ["ssl", "tls", "certificate"].contains { message.contains($0) }
    }

    /// - Parameters:
    ///   - sync: what beekond says of this destination.
    ///   - destination: its name.
    static func endpoint(
        _ backend: BackendFacts, _ sync: Wire.SyncStatus?, of destination: String, _ facts: Facts
    ) -> Finding {
        let name = "endpoint"
        guard isConnected(backend) else { return .skipped(name, "no connection") }
        switch backend.answer {
        case .status(let status): return judge(status, backend, sync, of: destination)
        case .page(let status):
            return .failed(
                name,
                "answers \(status) to an empty batch with a page, which beekond does not believe"
                    + said(backend),
                "look for a captive portal, a single-page app's fallback or a maintenance page at "
                    + "\(backend.table).url (\(backend.url))")
        case .phpError(let status):
            return .failed(
                name, "answers \(status) to an empty batch, but PHP printed an error before its answer",
                "see the log of PHP at \(backend.url), and set display_errors to Off there")
        case .noAck(let status):
            return .failed(
                name,
                "answers \(status) to an empty batch without acknowledging it, as \(backend.table).require_ack "
                    + "demands" + said(backend),
                "let it answer a JSON object with this batch_id, or set \(backend.table).require_ack to false"
            )
        case .refused(let status):
            return .failed(
                name, "answers \(status) to an empty batch without saying that it was taken" + said(backend),
                unaccepted(backend))
        case .unread(let status):
            return .failed(
                name,
                "answers \(status) to an empty batch with a body that cannot be read to its end: more than 64 KiB, compressed, "
                    + "cut off or no JSON",
                unaccepted(backend))
        case .silent(let status):
            return .skipped(
                name,
                "answers \(status) to an empty batch without a word on whether it was taken, which beekond believes",
                "where the server answers {\"result\":\"ok\"} to what it stores, set \(backend.table).accept_member = \"result\""
            )
        case .failed(let message, let isClock) where isClock || isTLSFailure(message):
            return .skipped(name, "no TLS")
        case .failed(let message, _):
            return .failed(name, "no answer: \(message)", "see the log of \(backend.url)")
        case .broker(isAccepted: true, let words, _): return .ok(name, words)
        case .broker(isAccepted: false, let words, let advice):
            return .failed(name, words, (advice ?? "see its log") + " (settings of [\(backend.table)])")
        case .unasked:
            return .skipped(
                name,
                "not asked: its requests have one location each, and the newest is only sent by beekonctl destination "
                    + "test \(destination)")
        case nil: return inferred(facts)
        }
    }

    private static func unaccepted(_ backend: BackendFacts) -> String {
        "see the log of \(backend.url), and correct its token, \(backend.table).url, or what \(backend.table).accept_member "
            + "and accept_value demand"
    }

    private static func judge(
        _ status: Int, _ backend: BackendFacts, _ sync: Wire.SyncStatus?, of destination: String
    ) -> Finding {
        let name = "endpoint"
        let answered = "answers \(status) to an empty batch" + said(backend)
        let table = backend.table
        if [401, 403].contains(status), backend.hasToken {
            return .skipped(name, "\(answered) without a token, which only beekond has")
        }
        // A backend that accepts real batches may still refuse an empty one.
        if [400, 422].contains(status), let sync, sync.state != .failed, acceptsRows(sync) {
            return .ok(name, "\(answered), and accepts real ones: it only refuses empty batches")
        }
        if !(200..<300).contains(status), backend.format != Format.beekon.rawValue,
            let format = Format(rawValue: backend.format)
        {
            return .failed(name, answered, format.advice(.status(status)) + " (settings of [\(table)])")
        }
        switch status {
        case 200..<300: return .ok(name, answered)
        case 400, 422: return refused(name, answered, of: destination)
        case 401, 403:
            return .failed(
                name, "\(answered): it refuses our credentials",
                "correct [\(table).headers] or [\(table).auth]")
        case 404, 405, 410:
            return .failed(
                name, "\(answered): nothing accepts batches there", "correct \(table).url (\(backend.url))")
        case 300..<400:
            return .failed(
                name, "\(answered): redirects are never followed", "set \(table).url to its target")
        case 429, 500..<600, 408:
            return .failed(
                name, "\(answered): it is in trouble or busy", "see its log; beekond tries again by itself")
        default:
            return .failed(
                name, "\(answered), which retrying will not change", "see its log and \(table).url")
        }
    }

    /// What the server said.
    private static func said(_ backend: BackendFacts) -> String { backend.reason.map { " (\($0))" } ?? "" }

    /// The server at the present url has accepted something, and refused nothing since.
    private static func acceptsRows(_ sync: Wire.SyncStatus) -> Bool {
        guard let success = sync.lastSuccess, sync.lastSuccessElsewhere != true else { return false }
        // Times of the interface have one form, and sort as texts.
        return sync.rejection.map { $0.rejectedAt < success } ?? true
    }

    private static func refused(_ name: String, _ answered: String, of destination: String) -> Finding {
        return .failed(
            name, "\(answered): it may reject every batch, or only empty ones",
            "its log says why; a receiver that unpacks gzip twice rejects everything. With a location pending, "
                + "\(destination == DestinationNames.main ? "beekonctl sync" : "beekonctl sync " + destination) shows what "
                + "happens to a real one")
    }

    /// Without the credentials nothing is sent: the answer to an unauthenticated request would mean nothing.
    private static func inferred(_ facts: Facts) -> Finding {
        let name = "endpoint"
        let (why, hint) = unread(facts)
        guard let sync = facts.status?.sync, let status = sync.lastHttpStatus else {
            return .skipped(name, "not asked: \(why)", hint)
        }
        let age = sync.lastAttempt.flatMap { seconds(since: $0, facts) }
        let when = age.map { ", " + Quantity.duration(seconds: $0) + " ago" } ?? ""
        if sync.state == .failed {
            return .failed(name, "last answered beekond \(status)\(when)", "beekonctl status says what to do")
        }
        return .skipped(name, "not asked; last answered beekond \(status)\(when)", hint)
    }

    /// Why the credentials are not known, and what to do.
    private static func unread(_ facts: Facts) -> (why: String, hint: String) {
        switch facts.file {
        case .broken: ("the configuration has a mistake", "correct it first, see configuration above")
        case .elsewhere: ("the configuration is elsewhere", "name the file with --config")
        case .unreadable where facts.user.isRoot: ("the configuration cannot be read, even by root", powers)
        case .good, .missing, .unreadable:
            ("no permission to read the configuration", "sudo beekonctl doctor sends an empty batch")
        }
    }

    private static func token(_ facts: Facts) -> Finding {
        guard let auth = facts.status?.auth else { return .skipped("token", "unknown without beekond") }
        switch auth.state {
        case "none": return .skipped("token", "not used: static headers alone")
        case "valid", "expiring": return .ok("token", auth.state)
        case "breaker_open":
            return .failed(
                "token", "refreshing it failed \(auth.failures) times", "see the log of sync.auth.refresh_url"
            )
        default:
            let reason = auth.reason.map { " (\($0))" } ?? ""
            return .failed(
                "token", "\(auth.state)\(reason): it can no longer be refreshed",
                "give beekond a new one: beekonctl auth seed, or [sync.auth]")
        }
    }

    private static func backlog(_ facts: Facts) -> Finding {
        guard let sync = facts.status?.sync else {
            return .skipped("backlog", "unknown without beekond")
        }
        guard sync.pending > 0 else { return .ok("backlog", "nothing is pending") }
        if facts.settings["sync.deliver"]?.stringValue == "latest" {
            return .ok("backlog", "none: deliver = \"latest\"; \(Quantity.count(sync.pending)) are kept here")
        }
        let count = "\(Quantity.count(sync.pending)) pending"
        guard let age = sync.oldestPending.flatMap({ seconds(since: $0, facts) }) else {
            return .ok("backlog", count)
        }
        let text = count + ", the oldest from " + Quantity.duration(seconds: age) + " ago"
        var interval = 300.0
        switch facts.settings["sync.interval_seconds"] {
        case .integer(let seconds): interval = Double(seconds)
        case .number(let seconds): interval = seconds
        default: break
        }
        guard Double(age) > max(overdueIntervals * interval, leastOverdueAge) else {
            return .ok("backlog", text)
        }
        return .failed("backlog", text, "beekonctl sync tries now and says what prevents it")
    }

    private static func seconds(since iso: String, _ facts: Facts) -> Int64? {
        clock(facts).secondsSince(iso)
    }

    private static func clock(_ facts: Facts) -> LocalClock {
        LocalClock(now: Timestamp(milliseconds: facts.now * 1000), zone: .utc)
    }
}
