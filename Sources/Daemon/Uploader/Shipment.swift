internal import Base
internal import Storage
internal import Tracking
internal import Upload

/// What goes out next to one destination, or is under way: its request, and what it carries. An uploader has one at a time.
struct Shipment {
    /// What an answer does something to.
    enum Content {
        /// Rows that the store has frozen: the same bytes at each attempt, until the server has them.
        ///
        /// `probing`: the batch before them, which was refused; if they are accepted, its row is why.
        case rows(FrozenBatch, probing: FrozenBatch?)
        /// The newest location, made afresh for each attempt. The store has no part in what becomes of it.
        case latest(FrozenBatch)
        /// A batch without rows, made afresh for each attempt: a heartbeat, or results of commands.
        case envelope
        /// The daemon's own log.
        case log
    }

    let content: Content
    let id: UUIDv7
    let request: Request
    /// The time of the position in it, where that is in no table; nil: there is none.
    var position: Timestamp?

    var kind: ShipmentKind {
        switch content {
        case .rows: .rows
        case .latest: .latest
        case .envelope: .envelope
        case .log: .log
        }
    }

    /// nil where it has no rows.
    var batch: FrozenBatch? {
        switch content {
        case .rows(let batch, _), .latest(let batch): batch
        case .envelope, .log: nil
        }
    }

    /// Whether a position that the user has deleted is in it. The store tells of rows that it has frozen.
    ///
    /// - Parameter cutoff: what is deleted; nil: everything.
    func holds(upTo cutoff: Timestamp?) -> Bool {
        guard let position else { return false }
        return cutoff.map { position <= $0 } ?? true
    }
}

extension Shipment {
    /// - Returns: nil when the request cannot be read back: then it has to be made anew.
    init?(_ batch: FrozenBatch, probing: FrozenBatch? = nil) {
        guard let request = Request(batch.request) else { return nil }
        self.init(content: .rows(batch, probing: probing), id: batch.id, request: request)
    }
}
