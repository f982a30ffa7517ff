internal import Glibc
internal import Synchronization

/// What there is for connections: places, and work that is being done for them.
///
/// Work is bounded more closely than places: of what is being done at once, each part takes as long as all of it, and answers
/// would come late. So few requests at once fill the groups of both databases.
final class Room: Sendable {
    /// Connections at once.
    private let places: Int
    /// Requests at once, as far as connections that are about to come bring them.
    private let work: Int
    private let taken = Atomic(0)
    private let coming = Atomic(0)
    private let working = Atomic(0)
    /// Whether somebody before the door waits for the bell.
    let someWait = Atomic(false)
    let bell: Bell

    /// - Throws: when there are no descriptors for a bell.
    init(places: Int, work: Int) throws(ListenError) {
        self.places = places
        self.work = work
        bell = try Bell()
    }

    var hasPlace: Bool { taken.load(ordering: .sequentiallyConsistent) < places }

    /// How many more requests can be worked at.
    var workLeft: Int {
        work - working.load(ordering: .sequentiallyConsistent)
            - coming.load(ordering: .sequentiallyConsistent)
    }

    /// A connection is given a place.
    func take() {
        taken.add(1, ordering: .sequentiallyConsistent)
        coming.add(1, ordering: .sequentiallyConsistent)
    }

    /// A connection has come to its channel.
    func arrive() {
        coming.subtract(1, ordering: .sequentiallyConsistent)
        ring()
    }

    /// A connection is gone.
    func leave() {
        taken.subtract(1, ordering: .sequentiallyConsistent)
        ring()
    }

    /// A whole request is there.
    func begin() {
        working.add(1, ordering: .sequentiallyConsistent)
    }

    /// An answer begins, or is not wanted any more.
    func end() {
        working.subtract(1, ordering: .sequentiallyConsistent)
        ring()
    }

    private func ring() {
        if someWait.load(ordering: .sequentiallyConsistent) { bell.ring() }
    }
}

/// Wakes a thread that waits for a socket.
final class Bell: Sendable {
    private let ear: Int32
    private let button: Int32

    init() throws(ListenError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ListenError(code: errno) }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (ear, button) = (ends[0], ends[1])
    }

    deinit {
        close(ear)
        close(button)
    }

    func ring() {
        _ = write(button, [1], 1)
    }

    /// - Parameters:
    ///   - socket: nil: only the bell is waited for.
    ///   - milliseconds: -1: for ever.
    /// - Returns: whether the socket has something.
    func wait(for socket: Int32?, milliseconds: Int32) -> Bool {
        var events = [
            pollfd(fd: socket ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: ear, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&events, 2, milliseconds) > 0 else { return false }
        if events[1].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 512)
            _ = read(ear, &bytes, bytes.count)
        }
        return events[0].revents != 0
    }
}
