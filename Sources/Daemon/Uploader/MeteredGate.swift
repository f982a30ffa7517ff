internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Synchronization
internal import Upload

/// Holds back what would go over a metered route, for one destination. Where that does not matter nothing is asked.
///
/// Confined to the uploader's thread.
struct MeteredGate {
    private let board: Board
    private var uploads = MeteredWait()
    private var refreshes = MeteredWait()
    private var announcements = MeteredWait()
    /// The address of the latest connection.
    private var peer: String?
    /// While an upload is held back: when to look again.
    private(set) var uploadsHeldUntil: BootInstant?
    private var refreshesHeldUntil: BootInstant?
    private var announcementsHeldUntil: BootInstant?

    init(board: Board) {
        self.board = board
    }

    /// Other settings are in force: what they mean for the wait is found out anew, but not how long it has lasted.
    ///
    /// - Parameter isElsewhere: it may be another server.
    mutating func configured(isElsewhere: Bool) {
        if isElsewhere { peer = nil }
        (uploadsHeldUntil, refreshesHeldUntil, announcementsHeldUntil) = (nil, nil, nil)
    }

    /// - Parameter address: in digits; nil when none was made.
    mutating func connected(to address: String?) {
        peer = address ?? peer
    }

    /// Whether an upload that is due may begin.
    ///
    /// - Parameters:
    ///   - isForced: a person asks.
    ///   - overdue: seconds by which the oldest row has missed its upload; 0 or more.
    mutating func admitsUpload(
        _ sync: Settings.Sync, isForced: Bool, overdue: Double, now: BootInstant
    ) -> Bool {
        uploadsHeldUntil = decide(\.uploads, sync, isForced: isForced, overdue: overdue, now: now)
        return uploadsHeldUntil == nil
    }

    /// Whether a token that is due may be refreshed, though nothing is to be uploaded.
    mutating func admitsRefresh(_ sync: Settings.Sync, now: BootInstant) -> Bool {
        refreshesHeldUntil = decide(\.refreshes, sync, isForced: false, overdue: 0, now: now)
        return refreshesHeldUntil == nil
    }

    /// Whether Home Assistant may be told something, though nothing is to be uploaded.
    mutating func admitsAnnouncement(_ sync: Settings.Sync, now: BootInstant) -> Bool {
        announcementsHeldUntil = decide(\.announcements, sync, isForced: false, overdue: 0, now: now)
        return announcementsHeldUntil == nil
    }

    /// Takes note that no upload is due, so that none is held back.
    mutating func noUploadDue() {
        uploadsHeldUntil = nil
    }

    /// Takes note that nothing is pending any more.
    mutating func uploadsDone() {
        uploads.done()
        uploadsHeldUntil = nil
    }

    mutating func announcementsDone() {
        announcements.done()
        announcementsHeldUntil = nil
    }

    mutating func refreshesDone() {
        refreshes.done()
        refreshesHeldUntil = nil
    }

    /// When to look at what is due then; nil: never.
    func wakeUp(
        upload: BootInstant?, refresh: BootInstant?, announcement: BootInstant? = nil
    ) -> BootInstant? {
        let upload = upload.map { max(uploadsHeldUntil ?? $0, $0) }
        let refresh = refresh.map { max(refreshesHeldUntil ?? $0, $0) }
        let announcement = announcement.map { max(announcementsHeldUntil ?? $0, $0) }
        return [upload, refresh, announcement].compactMap(\.self).min()
    }

    /// - Returns: until when to wait; nil: not at all.
    private mutating func decide(
        _ wait: WritableKeyPath<MeteredGate, MeteredWait>, _ sync: Settings.Sync, isForced: Bool,
        overdue: Double, now: BootInstant
    ) -> BootInstant? {
        guard let settings = sync.triggers.metered else {
            self[keyPath: wait].done()
            return nil
        }
        // Whoever asks need not know the route, and the wait of the others goes on.
        if isForced { return nil }
        let isMetered = facts(of: sync).isMetered(settings)
        let verdict = self[keyPath: wait].decide(
            isMetered: isMetered, overdue: overdue,
            patience: settings.maxWaitSeconds, now: now)
        return switch verdict {
        case .send: nil
        case .wait(let until): until
        }
    }

    /// The route to the server, to its proxy, or to where the latest connection led; before there was one, and for a server
    /// on this machine, which can only pass things on, the default route.
    private func facts(of sync: Settings.Sync) -> RouteFacts {
        let usual = Route.defaultInterface
        let address = peer ?? sync.nextHop.flatMap { Route.isAddress($0) ? $0 : nil }
        let own = address.flatMap { Route.isLoopback($0) ? nil : Route.interface(to: $0) }
        return RouteFacts(
            interface: own ?? usual, isDefault: own == nil || own == usual,
            isCalledMetered: board.isCalledMetered.load(ordering: .relaxed))
    }
}
