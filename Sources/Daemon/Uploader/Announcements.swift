internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Synchronization

/// What brokers retain of this vehicle for Home Assistant, for the uploaders of all destinations: noted durably before anything
/// is announced, and struck out once the broker has acknowledged its removal. What is noted and not configured any more is to be
/// removed: so that outlives every end of the daemon.
///
/// Read when it is first asked for.
final class Announcements: Sendable {
    typealias Announcement = SmallFiles.Announcement

    /// The file is there and cannot be read now: nothing may be written over it.
    struct Unreadable: Error { var reason: String }

    private struct State {
        var known: [Announcement]?
        var unreadable: String?
        /// The file was damaged: for the log, once.
        var trouble: SmallFiles.Trouble?
    }

    /// More than there can be destinations: urls may change while no broker can be reached.
    private static let limit = 32

    private let files: SmallFiles
    private let state = Mutex(State())

    init(_ files: SmallFiles) {
        self.files = files
    }

    /// What was wrong with the file, once.
    func takeTrouble() -> SmallFiles.Trouble? {
        state.withLock { state in
            _ = load(&state)
            return state.trouble.take()
        }
    }

    /// Notes what is about to be announced; nothing is written where that is noted already.
    ///
    /// - Returns: what there was no room for any more, the oldest: nobody will remove it.
    func note(_ announcement: Announcement) throws -> Announcement? {
        try state.withLock { state in
            var known = try readable(&state)
            guard !known.contains(announcement) else { return nil }
            known.removeAll { $0.isAbout(announcement) }
            known.append(announcement)
            let surplus = known.count > Self.limit ? known.removeFirst() : nil
            try files.write(known)
            state.known = known
            return surplus
        }
    }

    /// The broker has acknowledged the removal.
    func strike(_ announcement: Announcement) throws {
        try state.withLock { state in
            let known = try readable(&state).filter { !$0.isAbout(announcement) }
            try files.write(known)
            state.known = known
        }
    }

    /// The oldest that is to be removed by the uploader of this destination: one that its own settings have made, and do not any
    /// more. `main` also removes those of destinations that are gone.
    ///
    /// - Parameter isRunning: whether a destination has an uploader, which may still be connected.
    func removal(
        by name: DestinationName, _ settings: Settings, installID: String,
        isRunning: (DestinationName) -> Bool
    ) -> Announcement? {
        state.withLock { state in
            let known = load(&state)
            guard !known.isEmpty else { return nil }
            let urls = settings.allDestinations.filter { $0.sync.announces }.map(\.sync.url)
            return known.first { announcement in
                if announcement.installID == installID, urls.contains(announcement.url) { return false }
                let owner = DestinationName(announcement.destination) ?? .main
                return owner == name || name == .main && !isRunning(owner)
            }
        }
    }

    private func readable(_ state: inout State) throws -> [Announcement] {
        let known = load(&state)
        if let reason = state.unreadable { throw Unreadable(reason: reason) }
        return known
    }

    private func load(_ state: inout State) -> [Announcement] {
        if let known = state.known { return known }
        let reading = files.readAnnouncements()
        // What only cannot be read now is asked for again.
        if let trouble = reading.trouble, trouble.isPassing, reading.content == nil {
            if state.unreadable == nil { state.trouble = trouble }
            state.unreadable = trouble.reason
            return []
        }
        (state.known, state.unreadable) = (reading.content ?? [], nil)
        state.trouble = reading.trouble
        return reading.content ?? []
    }
}

extension Settings.Sync {
    /// The vehicle is announced to Home Assistant.
    var announces: Bool { mqtt?.homeAssistant == true }
}
