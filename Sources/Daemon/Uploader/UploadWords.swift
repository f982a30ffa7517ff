internal import DaemonConfiguration
internal import Upload

// The outcome of a drain in the words of the journal and of the control interface.

extension DrainOutcome.Failure {
    /// What happened, and what to do.
    func advice(_ status: Int?, _ sync: Settings.Sync?) -> String {
        let code = status.map { "\($0)" } ?? "no status"
        let next = "; " + Self.next(sync)
        return switch self {
        case .auth:
            "the server refuses our credentials (\(code)): check [sync.headers] and [sync.auth]" + next
        case .permanent where status == 413:
            "the server finds the batch too large (413): lower sync.batch_size (\(sync?.batchSize ?? 0)) or raise "
                + "the server's limit" + next
        case .page:
            "a page answers \(code) in the backend's place, which is not believed: look for a captive portal, a "
                + "single-page app's fallback or a maintenance page at sync.url" + next
        case .noAck:
            "the answer (\(code)) does not acknowledge the batch, which sync.require_ack demands: the backend must "
                + "answer a JSON object with this batch_id, or require_ack be set to false" + next
        case .permanent: "the server refuses the upload for good (\(code)): check sync.url" + next
        case .deadLettersFull:
            "the server has rejected a batch (\(code)), and the table of dead letters is full: see beekonctl rejected "
                + "list, then send them again (beekonctl rejected retry, once the server is mended), or export and delete "
                + "them (beekonctl rejected purge), and the upload goes on" + next
        case .rejected where sync?.isLatestOnly == true:
            "the server calls the location invalid (\(code)): check the destination's url and format" + next
        case .rejected:
            "the server has rejected three batches in a row (\(code)): it is suspected, not the data. "
                + "Check that it unpacks gzip once and takes this format; one probe follows each "
                + (sync?.triggers.mode == .manual
                    ? "beekonctl sync" : "\(Int(sync?.intervalSeconds ?? 300)) s")
        }
    }
}

extension DrainOutcome.Failure {
    /// What follows it.
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

extension Doubt {
    /// Appended to "the server answers 200".
    var words: String {
        switch self {
        case .page: " with a page, which is not believed"
        case .noAck: " without an acknowledgement of the batch (sync.require_ack)"
        case .refused: " with a result other than ok"
        }
    }
}

extension SyncResult.Outcome {
    init(_ outcome: DrainOutcome, hadWork: Bool) {
        self =
            switch outcome {
            case .drained: hadWork ? .drained : .nothingPending
            case .transient: .transient
            case .failed(.auth): .auth
            case .failed(.permanent), .failed(.page), .failed(.noAck): .permanent
            case .failed(.rejected), .failed(.deadLettersFull): .rejected
            }
    }
}
