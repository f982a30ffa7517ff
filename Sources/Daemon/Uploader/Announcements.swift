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

    /// Notes what is about to be announced; nothing is written where that is noted already. A login that the broker has accepted
    /// stays until it has accepted another: what is retained is to be removed with one that works.
    ///
    /// - Returns: what there was no room for any more, the oldest: nobody will remove it.
    func note(_ announcement: Announcement) throws -> Announcement? {
        try state.withLock { state in
            var known = try readable(&state)
            var new = announcement
            if let old = known.first(where: { $0.isAbout(announcement) }), old.isAccepted == true {
                new = old
                new.topics = old.topics.union(announcement.topics)
            }
            guard !known.contains(new) else { return nil }
            known.removeAll { $0.isAbout(announcement) }
            known.append(new)
            let surplus = known.count > Self.limit ? known.removeFirst() : nil
            try files.write(known)
            state.known = known
            return surplus
        }
    }

    /// The broker has accepted something of it; nothing is written where that is noted already.
    func accept(_ announcement: Announcement) throws {
        try state.withLock { state in
            var known = try readable(&state)
            guard let place = known.firstIndex(where: { $0.isAbout(announcement) }) else { return }
            var accepted = announcement
            accepted.isAccepted = true
            // Something may be retained of what an earlier version has announced.
            accepted.topics = known[place].topics.union(announcement.topics)
            guard known[place] != accepted else { return }
            known[place] = accepted
            try files.write(known)
            state.known = known
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

    /// What is to be removed by the uploader of this destination, oldest first: what its own settings announced, and do not
    /// any more. `main` also removes those of destinations that are gone.
    ///
    /// - Parameter isRunning: whether a destination has an uploader, which may still be connected.
    func removals(
        by name: DestinationName, _ settings: Settings, installID: String,
        isRunning: (DestinationName) -> Bool
    ) -> [Announcement] {
        state.withLock { state in
            let known = load(&state)
            guard !known.isEmpty else { return [] }
            let urls = settings.allDestinations.filter { $0.sync.announces }.map(\.sync.url)
            return known.filter { announcement in
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
        let reading = files.read([Announcement].self)
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

extension Array<String> {
    /// These, and behind them those of others that are not among them.
    fileprivate func union(_ others: [String]) -> [String] { self + others.filter { !contains($0) } }
}

extension Settings.Sync {
    /// The vehicle is announced to Home Assistant.
    var announces: Bool { mqtt?.homeAssistant == true }
}
