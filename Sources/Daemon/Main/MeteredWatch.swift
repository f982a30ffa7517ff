internal import Base
internal import Linux
internal import Synchronization
internal import Systemd

/// What is to be believed of what NetworkManager has said. Pure: time is an argument.
struct MeteredWord: Equatable {
    /// Seconds for which the first answer is waited for. A bus that lets nobody in has a limit of its own, which differs
    /// from one libsystemd to the next: 90 s in that of Debian 13.
    static let patience = 10.0
    /// Seconds: as long as an answer is believed after its author has gone, which may be restarting.
    static let grace = 20.0
    /// Seconds after which one that was silent is asked again.
    static let askAgain = 60.0

    /// Until something is heard it may be: an upload that begins before the answer would not have waited for it.
    private(set) var isMetered = true
    private var hasAnswered = false
    /// When the answer, or that there will be one, is no longer believed.
    private var lapsesAt: BootInstant?
    /// When to ask again.
    private(set) var askAt: BootInstant?

    /// Begins with the first question.
    init(now: BootInstant) {
        lapsesAt = now.advanced(bySeconds: Self.patience)
    }

    /// What has been heard, if anything.
    mutating func hear(_ news: NetworkManagerLink.News, now: BootInstant) {
        switch news {
        case .metered(let metered):
            (lapsesAt, askAt, hasAnswered) = (nil, nil, true)
            switch metered {
            case .yes, .guessYes: isMetered = true
            case .unknown, .no, .guessNo: isMetered = false
            }
        case .absent: lose(now: now)
        case .silent:
            lose(now: now)
            askAt = now.advanced(bySeconds: Self.askAgain)
        }
    }

    /// NetworkManager has stopped, so that it cannot be asked.
    mutating func lose(now: BootInstant) {
        lapsesAt = hasAnswered ? lapsesAt ?? now.advanced(bySeconds: Self.grace) : now
        look(now: now)
    }

    /// NetworkManager is asked again.
    mutating func asked() {
        askAt = nil
    }

    /// Time has passed.
    mutating func look(now: BootInstant) {
        if let lapsesAt, lapsesAt <= now { isMetered = false }
    }

    /// When to look again.
    var deadline: BootInstant? {
        [isMetered ? lapsesAt : nil, askAt].compactMap(\.self).min()
    }
}

/// Keeps in touch with NetworkManager while an upload avoids metered networks; otherwise nothing is opened.
///
/// Confined to the main thread, which never waits for the bus.
final class MeteredWatch {
    private let board: Board
    private var link: NetworkManagerLink?
    /// nil while nobody wants to know.
    private var word: MeteredWord?
    /// When to connect again.
    private var connectAt: BootInstant?

    /// Seconds between two attempts to connect.
    private static let pause = 60.0

    init(board: Board) {
        self.board = board
    }

    /// - Parameter isWanted: a destination avoids metered networks.
    func watch(_ isWanted: Bool, now: BootInstant) {
        guard isWanted != (word != nil) else { return }
        word = isWanted ? MeteredWord(now: now) : nil
        link = nil
        connectAt = nil
        if isWanted { connect(now: now) }
        publish()
    }

    private func connect(now: BootInstant) {
        link = NetworkManagerLink()
        connectAt = nil
        if link == nil { end(now: now) }
    }

    private func end(now: BootInstant) {
        link = nil
        connectAt = now.advanced(bySeconds: Self.pause)
        word?.lose(now: now)
    }

    /// Adds one descriptor, in any case.
    func add(to rest: inout Rest) {
        rest.add(link?.raw ?? -1, write: link?.wantsWrite ?? false)
    }

    /// When `serve` is to be called, whatever poll(2) says.
    func deadline(now: BootInstant) -> BootInstant? {
        guard let word else { return nil }
        let bus = link?.timeout.map { now.advanced(bySeconds: $0) }
        return [bus, word.deadline, connectAt].compactMap(\.self).min()
    }

    /// - Returns: whether the network is called metered now and was not before, or the other way round.
    func serve(now: BootInstant) -> Bool {
        guard word != nil else { return false }
        if let connectAt, connectAt <= now { connect(now: now) }
        if let link {
            if let news = link.process() {
                for one in news { word?.hear(one, now: now) }
            } else {
                end(now: now)
            }
        }
        if let askAt = word?.askAt, askAt <= now {
            word?.asked()
            link?.ask()
        }
        word?.look(now: now)
        return publish()
    }

    @discardableResult
    private func publish() -> Bool {
        let isMetered = word?.isMetered ?? false
        return board.isCalledMetered.exchange(isMetered, ordering: .relaxed) != isMetered
    }
}
