package import DaemonConfiguration

// What an answer that is no acceptance most likely means, and what to do: by what the servers of each format answer.

extension Format {
    /// Why rows were not accepted.
    package enum Cause: Equatable, Sendable {
        /// By this HTTP status; a 2xx is no cause.
        case status(Int)
        /// A 2xx is not believed.
        case doubt(Doubt)
        /// The connection was closed without an answer, time and again: see `SilentCloses`.
        case closed

        /// - Returns: nil for an acceptance.
        package init?(_ judgement: Judgement) {
            guard judgement.verdict != .accepted else { return nil }
            self = judgement.doubt.map { .doubt($0) } ?? .status(judgement.status)
        }
    }

    /// The likely cause, and what to do, in one or two sentences. Names the keys of the destination's table without the table.
    package func advice(_ cause: Cause) -> String {
        switch cause {
        case .status(let status): advice(status)
        case .doubt(.page):
            "A page answers in the server's place, which is not believed: look for a captive portal, a login page or a "
                + "maintenance page at url."
        case .doubt(.phpError):
            "PHP printed an error before its answer, so nobody knows what became of the batch: see its log at the server, and "
                + "set display_errors to Off there."
        case .doubt(.noAck):
            "The answer does not acknowledge the batch, which require_ack demands: let the server answer a JSON object with "
                + "the batch_id, or set require_ack to false."
        case .doubt(.refused):
            "The answer does not say that the batch was taken"
                + (self == .overland
                    ? ": result is not ok, or not what accept_member and accept_value demand. Compass answers so when the token is "
                        + "missing or wrong: correct headers or url, or see the server's log."
                    : ", as accept_member and accept_value demand: see the server's log, correct headers or url, or what is "
                        + "demanded.")
        case .doubt(.unread):
            "The answer cannot be read to its end (more than 64 KiB, compressed without being asked, cut off, no JSON, or "
                + "accept_member twice), so it does not say that the batch was taken, as accept_member demands: see the "
                + "server's log."
        case .closed: closed
        }
    }

    private func advice(_ status: Int) -> String {
        let own: String? =
            switch self {
            case .beekon: BeekonFormat.advice(status)
            case .template: TemplateFormat.advice(status)
            case .overland: OverlandFormat.advice(status)
            case .owntracks: OwnTracksFormat.advice(status)
            case .osmand: OsmAndFormat.advice(status)
            }
        return own ?? common(status)
    }

    private var closed: String {
        let what = "The server closes the connection without an answer, time and again"
        return switch self {
        case .osmand: what + ". " + OsmAndFormat.closedAdvice
        case .owntracks: what + ". " + OwnTracksFormat.closedAdvice
        case .beekon, .template, .overland:
            what + ": see its log, and that of a proxy before it; check http or https and the port in url."
        }
    }

    // MARK: What every server means

    private func common(_ status: Int) -> String {
        switch status {
        case 300..<400:
            "The server redirects (\(status)), which is not followed: set url to the address it names, often https or without "
                + "a slash at the end."
        case 401: "The server refuses the credentials (401): correct headers or auth."
        case 402: "The server asks for a payment (402): see the account there."
        case 403: "The server forbids it (403): correct headers or auth, or grant the rights there."
        case 404, 410: "The server has nothing at this path (\(status)): correct url."
        case 405: "The server does not take POST here (405): correct url."
        case 407: "The proxy refuses the credentials (407): correct proxy."
        case 408: "The server waited too long for the request (408): the link is slow. It is tried again."
        case 413 where traits.isOneRow:
            "The server finds one row too large (413): correct url, or raise the server's limit."
        case 413: "The server finds the batch too large (413): lower batch_size, or raise the server's limit."
        case 415:
            "The server does not take this kind of body (415): check that url is its address for \(rawValue)."
        case 429: "The server finds the requests too many (429): raise interval_seconds. It is tried again."
        case 502, 503, 504:
            "The server, or a proxy before it, is not available (\(status)): see whether it runs. It is tried again."
        case 500..<600: "The server failed (\(status)): see its log. It is tried again."
        default:
            "The server answers \(status), which is not an answer to \(rawValue): check that url is its address for this format."
        }
    }
}
