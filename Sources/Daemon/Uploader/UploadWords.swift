internal import Base
internal import DaemonConfiguration
internal import Upload

// The outcome of a drain in the words of the journal and of the control interface.

extension DrainOutcome.Failure {
    /// What happened and what to do.
    ///
    /// - Parameters:
    ///   - status: of the latest answer.
    ///   - code: the same in words, and what the server said with it.
    ///   - table: `sync`, or `destination.NAME`.
    func advice(_ status: Int?, _ code: String, _ sync: Settings.Sync?, _ table: String) -> String {
        let next = "; " + Self.next(sync)
        return switch self {
        case .auth:
            "the server refuses our credentials (\(code)): check "
                + (sync?.format.name == .owntracks ? "\(table).username and password, or " : "")
                + "[\(table).headers] and [\(table).auth]" + next
        case .permanent where sync?.format.name.traits.isForeign == true:
            (sync?.advice(status) ?? "")
                + (status == nil ? "" : " It answers \(code).")
                + " These are settings of [\(table)]. Nothing is lost, the next attempt follows on the schedule"
        case .permanent where status == 413 && sync?.sendsSingleRows == true:
            "the server finds one row too large (\(code)): raise the server's limit" + next
        case .permanent where status == 413:
            "the server finds the batch too large (\(code)): lower \(table).batch_size (\(sync?.batchSize ?? 0)) or raise "
                + "the server's limit" + next
        case .page:
            "a page answers \(code) in the backend's place, which is not believed: look for a captive portal, a "
                + "single-page app's fallback or a maintenance page at \(table).url" + next
        case .phpError:
            "PHP printed an error before its answer (\(code)), so nobody knows whether the batch was stored: see its log at the "
                + "server of \(table).url, and set display_errors to Off there" + next
        case .refused:
            "the answer (\(code)) does not say that the batch was taken: a body that can be read to its end must have "
                + (sync?.acceptance ?? "what \(table).accept_member demands")
                + " (\(table).accept_member, accept_value); "
                + "see the server's log, and check the token and \(table).url" + next
        case .noAck:
            "the answer (\(code)) does not acknowledge the batch, which \(table).require_ack demands: the backend must "
                + "answer a JSON object with this batch_id, or require_ack be set to false" + next
        case .permanent: "the server refuses the upload for good (\(code)): check \(table).url" + next
        case .deadLettersFull:
            "the server has rejected a batch (\(code)), and the table of dead letters is full: see beekonctl rejected "
                + "list, then send them again (beekonctl rejected retry, once the server is fixed), or export and delete "
                + "them (beekonctl rejected purge), and the upload goes on" + next
        case .rejected where sync?.isLatestOnly == true:
            "the server calls the location invalid (\(code)): check url and format of [\(table)]" + next
        case .rejected:
            "the server has rejected three batches in a row (\(code)): it is suspected, not the data. "
                + "Check that it unpacks gzip once and takes this format; one probe follows each "
                + (sync?.triggers.mode == .manual
                    ? "beekonctl sync" : "\(Int(sync?.intervalSeconds ?? 300)) s")
        }
    }
}

extension DrainOutcome.Failure {
    /// What follows the failure.
    fileprivate static func next(_ sync: Settings.Sync?) -> String {
        if sync?.isLatestOnly == true {
            return "the next attempt, with what is newest by then, follows after a pause"
        }
        if sync?.triggers.mode == .manual {
            return "nothing is lost, the next attempt is made by beekonctl sync"
        }
        return "nothing is lost, the next attempt follows on the schedule"
    }
}

extension Settings.Sync {
    /// What an answer that is no acceptance most likely means for this format.
    ///
    /// - Parameter status: nil: the connection was closed without one, time and again.
    fileprivate func advice(_ status: Int?) -> String? {
        if status == nil, mqtt != nil { return OwnTracksMQTT.closed }
        return Format(rawValue: format.name.rawValue)?.advice(status.map { .status($0) } ?? .closed)
    }
}

extension Settings.Sync {
    /// What an answer must say, as in `result = "ok"`.
    fileprivate var acceptance: String {
        let values = acceptValues.map { "\"\($0)\"" }.joined(separator: " or ")
        return "\(acceptMember ?? "result") = \(values)"
    }

    /// A lower `batch_size` makes no request smaller.
    var sendsSingleRows: Bool { batchSize <= 1 || format.name.traits.isOneRow }
}

extension DestinationName {
    /// Table of the destination in the configuration: `sync`, or `destination.NAME`.
    var table: String { self == .main ? "sync" : "destination." + text }
}

extension Doubt {
    /// Appended to "the server answers 200".
    var words: String {
        switch self {
        case .page: " with a page, which is not believed"
        case .phpError: ", but PHP printed an error before its answer, which is not believed"
        case .noAck: " without an acknowledgement of the batch (require_ack)"
        case .refused: " without saying that the batch was taken (accept_member)"
        case .unread:
            " with a body that cannot be read to its end, so it does not say that the batch was taken (accept_member)"
        }
    }
}

extension SyncResult.Outcome {
    /// - Parameter hasRefused: the server has refused rows for good on the way.
    init(_ outcome: DrainOutcome, hadWork: Bool, hasRefused: Bool) {
        self =
            switch outcome {
            case .drained where hasRefused, .transient where hasRefused: .rejected
            case .drained: hadWork ? .drained : .nothingPending
            case .transient: .transient
            case .failed(.auth): .auth
            case .failed(.permanent), .failed(.page), .failed(.phpError), .failed(.noAck), .failed(.refused):
                .permanent
            case .failed(.rejected), .failed(.deadLettersFull): .rejected
            }
    }
}
