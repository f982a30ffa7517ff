internal import Base
internal import Storage

/// A change of what one destination is owed, in steps.
enum OwedWork: Sendable {
    /// What it has received, and is kept, it gets again.
    case resend(Resend)
    /// What was stored before it was added.
    case backfill(Backfill)
    /// The destination is not configured any more, and gets nothing.
    case forget(Forgetting)

    var destination: DestinationName {
        switch self {
        case .resend(let work): work.destination
        case .backfill(let work): work.destination
        case .forget(let work): work.destination
        }
    }

    var isFinished: Bool {
        switch self {
        case .resend(let work): work.isFinished
        case .backfill(let work): work.isFinished
        case .forget(let work): work.isFinished
        }
    }

    /// Rows so far.
    var done: Int {
        switch self {
        case .resend(let work): work.done
        case .backfill(let work): work.done
        case .forget(let work): work.removed
        }
    }

    /// Whether the work has given a destination something to send now.
    var isDueAtOnce: Bool {
        switch self {
        case .resend, .backfill: done > 0
        case .forget: false
        }
    }

    /// One step.
    mutating func proceed(in store: Store) throws(StorageError) {
        switch self {
        case .resend(var work):
            try store.proceed(with: &work)
            self = .resend(work)
        case .backfill(var work):
            try store.proceed(with: &work)
            self = .backfill(work)
        case .forget(var work):
            try store.proceed(with: &work)
            self = .forget(work)
        }
    }

    /// Tells the journal what has been done.
    func report() {
        let count: [(Log.Field, String)] = [(.count, "\(done)")]
        switch self {
        case .resend:
            guard done > 0 else { return }
            Log.notice(
                .rowsResent, "\(done) kept locations and events are pending again, under their ids", count)
        case .backfill:
            Log.notice(
                .rowsResent,
                "\(done) locations and events from before it was added are pending for \(destination) now",
                count)
        case .forget:
            Log.notice(
                .destinationForgotten,
                "destination \(destination) has been forgotten; \(done) rows that no other destination was to get are deleted",
                count)
        }
    }
}
