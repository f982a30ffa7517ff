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
            case .beekon: beekon(status)
            case .template: template(status)
            case .overland: overland(status)
            case .owntracks: ownTracks(status)
            case .osmand: osmAnd(status)
            }
        return own ?? common(status)
    }

    // MARK: What one format's servers mean

    private func beekon(_ status: Int) -> String? {
        switch status {
        case 400, 422:
            "The server rejects the batch (\(status)): its log says why, and beekonctl rejected list shows the rows."
        case 404: "The server has nothing at this path (404): correct url."
        default: nil
        }
    }

    private func template(_ status: Int) -> String? {
        switch status {
        case 400, 422:
            "The server rejects the request (\(status)): its log says why, and beekonctl rejected list shows the rows. Compare "
                + "what it expects with location_template, geofence_template, root_property and batch_size."
        case 405: "The server does not take this method here (405): correct method or url."
        case 414, 431:
            "The server finds the url too long (\(status)): shorten location_template, or send it in a body (method, body)."
        case 415:
            "The server does not take this kind of body (415): set compress to false, or correct body, a Content-Type in "
                + "headers, or url."
        default: beekon(status)
        }
    }

    private func overland(_ status: Int) -> String? {
        switch status {
        case 400:
            "The server refuses the batch (400). PhoneTrack does when the quota of points is used up or the device's name is "
                + "reserved: raise the quota in its settings, or use the name's token in url."
        case 401:
            "The server refuses the credentials (401): correct the API key in headers. Dawarich answers the same when the "
                + "account is not active or its limit of points is reached."
        case 402: "Dawarich asks for a subscription (402): complete it in its account settings."
        case 403:
            "The server forbids it (403). PhoneTrack does when the token in url is wrong or the session is locked: copy the "
                + "url from the session's settings."
        case 404:
            "The server has nothing at this path (404): url must end in /api/v1/overland/batches for Dawarich, in "
                + "/api/overland for GeoPulse, in /apps/phonetrack/log/overland/TOKEN/NAME for PhoneTrack."
        case 422:
            "The server cannot process the batch (422): check that url is its address for Overland, and see its log."
        case 429:
            "The server finds the requests too many (429): raise interval_seconds or batch_size. Dawarich's cloud takes "
                + "10,000 an hour."
        case 500:
            "The server failed (500). Dawarich does when it cannot store one location of a batch: see its log. The batch is "
                + "tried again."
        default: nil
        }
    }

    private func ownTracks(_ status: Int) -> String? {
        switch status {
        case 400:
            "The server does not know this vehicle (400): in Traccar, add a device with the identifier "
                + "owntracks/USER/DEVICE, which is username and device_id. PhoneTrack answers 400 when its quota of points is "
                + "used up."
        case 401:
            "The server refuses the credentials (401): correct username and password, or headers. Dawarich takes its API key "
                + "as ?api_key= in url or as a bearer token, and answers the same when the limit of points is reached."
        case 402: "Dawarich asks for a subscription (402): complete it in its account settings."
        case 403:
            "The server forbids it (403). PhoneTrack does when the token in url is wrong or the session is locked: copy the "
                + "url from the session's settings."
        case 404:
            "The server has nothing at this path (404): url must end in /pub for the OwnTracks recorder, in /api/webhook/ID "
                + "for Home Assistant, in /api/v1/owntracks/points for Dawarich, in /api/owntracks for GeoPulse, in "
                + "/apps/phonetrack/log/owntracks/TOKEN/NAME for PhoneTrack."
        case 422: "The server cannot read the message (422): check that url is its address for OwnTracks."
        case 500:
            "The server failed (500): see its log. Dawarich does when it cannot store the location. The row is tried again."
        default: nil
        }
    }

    private func osmAnd(_ status: Int) -> String? {
        switch status {
        case 400:
            "The server does not know this vehicle (400): in Traccar, add a device whose identifier is device_id. PhoneTrack "
                + "answers 400 when its quota of points is used up or the device's name is reserved."
        case 403:
            "The server forbids it (403). PhoneTrack does when the token in url is wrong or the session is locked: copy the "
                + "url from the session's settings."
        case 404:
            "The server has nothing at this path (404): url is http://SERVER:5055 for Traccar, ends in /api/webhook/ID for "
                + "Home Assistant, in /apps/phonetrack/log/traccar/TOKEN/NAME for PhoneTrack."
        case 405:
            "The server takes no POST here (405): PhoneTrack does under /log/traccar/TOKEN/NAME, not under /log/osmand."
        case 414, 431:
            "The server finds the url too long (\(status)): send fewer extras."
        case 422:
            "Home Assistant cannot read the parameters (422): check that the webhook in url is that of Traccar, and that url "
                + "has no parameters of its own."
        default: nil
        }
    }

    private var closed: String {
        let what = "The server closes the connection without an answer, time and again"
        return switch self {
        case .osmand:
            what
                + ". Traccar does when it cannot read a request: see tracker-server.log, check that the port in url is "
                + "OsmAnd's (5055), and that http or https is right."
        case .owntracks:
            what
                + ". Traccar does when it cannot read a message: see tracker-server.log, check that the port in url is "
                + "OwnTracks' (5144), and that http or https is right."
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
            "The server answers \(status), which is no answer to \(rawValue): check that url is its address for this format."
        }
    }
}
