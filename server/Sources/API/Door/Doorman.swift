internal import Glibc
internal import Synchronization

/// Takes connections from the kernel as they come, gives each a place or lets it wait for one, and sends away those that wait in
/// vain. It does so on a thread of its own and with a few system calls for each, so that a crowd before the door costs those
/// inside little, and is told soon when to come again.
final class Doorman: Sendable {
    /// Numbers of connections, for the metrics.
    final class Counts: Sendable {
        /// Connections that wait for a place.
        let waiting = Atomic(0)
        /// Connections that were sent away since the start.
        let refused = Atomic<UInt64>(0)
    }

    private let listener: Listener
    private let room: Room
    private let bounds: WaitingLine.Bounds
    private let counts: Counts
    private let isEnding = Atomic(false)

    /// - Parameters:
    ///   - listener: where they come; closed at the end.
    ///   - room: what there is for those who come.
    ///   - bounds: of those that bring uploads, and of others.
    init(_ listener: Listener, into room: Room, waiting bounds: WaitingLine.Bounds, counts: Counts) {
        self.listener = listener
        self.room = room
        self.bounds = bounds
        self.counts = counts
    }

    /// No more are accepted, and those that wait are sent away; `run` returns.
    func close() {
        isEnding.store(true, ordering: .sequentiallyConsistent)
        room.bell.ring()
    }

    /// - Parameter admit: takes over the socket of one that has a place.
    func run(_ admit: (Int32) -> Void) {
        var lines = Lines(bounds)
        var farewell = Farewell()
        // While the kernel has no descriptor left, it is not asked for one.
        var isShort = false
        while !isEnding.load(ordering: .sequentiallyConsistent) {
            let isIdle = lines.count == 0 && farewell.isEmpty && !isShort
            let calls = room.bell.wait(
                for: isShort ? nil : listener.socket, milliseconds: isIdle ? -1 : Self.tick)
            isShort = false
            let now = ContinuousClock.now
            if calls { isShort = !accept(Self.handful, into: &lines, now: now) }
            seat(&lines, now: now, admit)
            while let socket = lines.surplus(now: now) { refuse(socket, &farewell, now: now) }
            farewell.sweep(now: now)
        }
        // Closing it resets those that have connected and were not accepted.
        _ = accept(Int(listener.backlog), into: &lines, now: .now)
        listener.close()
        while let socket = lines.leave() { refuse(socket, &farewell, now: .now) }
        farewell.endAll()
    }

    /// Milliseconds after which those that wait are looked at.
    private static let tick: Int32 = 100
    /// Connections that are accepted before somebody is given a place again.
    private static let handful = 64

    /// - Parameter most: connections.
    /// - Returns: false when there are no descriptors left.
    private func accept(_ most: Int, into lines: inout Lines, now: ContinuousClock.Instant) -> Bool {
        for _ in 0..<most {
            switch listener.accept() {
            case .connection(let socket):
                if Self.asksOtherwise(socket) {
                    lines.others.join(socket, now: now)
                } else {
                    lines.uploads.join(socket, now: now)
                }
            case .none: return true
            case .gone: continue
            case .shortage: return false
            }
        }
        return true
    }

    private func seat(_ lines: inout Lines, now: ContinuousClock.Instant, _ admit: (Int32) -> Void) {
        // Told before room is looked for: whoever makes some afterwards rings.
        room.someWait.store(lines.count > 0, ordering: .sequentiallyConsistent)
        var work = room.workLeft
        lines.note(work, now: now)
        while room.hasPlace, let socket = lines.next(now: now, work: &work) {
            room.take()
            admit(socket)
        }
        room.someWait.store(lines.count > 0, ordering: .sequentiallyConsistent)
        counts.waiting.store(lines.count, ordering: .relaxed)
    }

    private func refuse(_ socket: Int32, _ farewell: inout Farewell, now: ContinuousClock.Instant) {
        counts.refused.wrappingAdd(1, ordering: .relaxed)
        farewell.send(socket, now: now)
    }

    /// How an upload begins.
    private static let upload = Array("POST /v1/batches".utf8)

    /// Whether what has arrived is not the beginning of an upload. Who says nothing is taken for one that brings one.
    private static func asksOtherwise(_ socket: Int32) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: upload.count) { bytes in
            let count = recv(socket, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_PEEK))
            return count > 0 && !bytes.prefix(count).elementsEqual(upload.prefix(count))
        }
    }

    /// Uploads are what comes in masses. They wait for work to be done, the others only for a place: who looks at the fleet, or
    /// after the server's health, does not stand behind the fleet. Where places are what is scarce, the two take turns.
    private struct Lines {
        var uploads: WaitingLine
        var others: WaitingLine
        private var uploadsAreNext = false
        /// When uploads had to wait for work to be done.
        private var wasBusy: ContinuousClock.Instant?
        private var isBusy = false

        init(_ bounds: WaitingLine.Bounds) {
            uploads = WaitingLine(bounds)
            others = WaitingLine(bounds)
        }

        var count: Int { uploads.count + others.count }

        /// - Parameter work: how many uploads may come.
        mutating func note(_ work: Int, now: ContinuousClock.Instant) {
            if work <= 0, uploads.count > 0 { wasBusy = now }
            // Work is done in groups, between which there is room for a moment.
            isBusy = wasBusy.map { now - $0 < .milliseconds(250) } ?? false
        }

        /// - Parameter work: how many uploads may still come.
        mutating func next(now: ContinuousClock.Instant, work: inout Int) -> Int32? {
            uploadsAreNext.toggle()
            if uploadsAreNext, let socket = upload(now: now, work: &work) { return socket }
            return others.next(now: now) ?? upload(now: now, work: &work)
        }

        private mutating func upload(now: ContinuousClock.Instant, work: inout Int) -> Int32? {
            guard work > 0, let socket = uploads.next(now: now) else { return nil }
            work -= 1
            return socket
        }

        mutating func surplus(now: ContinuousClock.Instant) -> Int32? {
            uploads.surplus(now: now, isBusy: isBusy) ?? others.surplus(now: now, isBusy: false)
        }

        mutating func leave() -> Int32? {
            uploads.leave() ?? others.leave()
        }
    }
}
