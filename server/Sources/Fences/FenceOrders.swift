package import Base
internal import EnvelopeReader
internal import FoundationEssentials
package import ServerStore
internal import Tracking

/// Tells a vehicle of the fences that it is to have, when it uploads: as commands, of which there are rows only while they are under
/// way. Each function is for a thread of the store.
package enum FenceOrders {
    /// The author of these commands. No user has this name: theirs have no slash.
    package static let author = "/fences"

    /// An upload of a vehicle whose rows are stored.
    package struct Upload: Sendable {
        package var device: Int64
        /// What it says of itself, a JSON object; nil: nothing.
        package var status: [UInt8]?
        /// By the guarded time: by what commands expire.
        package var age: Timestamp
        /// By this server's clock, but not later than the database's.
        package var now: Timestamp
        /// The latest moment that it can be.
        package var latest: Timestamp
        /// What the counter of a signed list must reach at least; nil when nothing is signed.
        package var counter: Int64?

        package init(
            device: Int64, status: [UInt8]?, age: Timestamp, now: Timestamp, latest: Timestamp,
            counter: Int64?
        ) {
            self.device = device
            self.status = status
            self.age = age
            self.now = now
            self.latest = latest
            self.counter = counter
        }

        /// The digest of its servers' fences; nil when it says nothing of them.
        package var digest: UInt64? { status.flatMap { Report($0) }?.digest }
        /// Whether it tracks; nil when it says nothing of itself.
        package var state: String? { status.flatMap { Report($0) }?.state }
    }

    /// What there is to do for a vehicle.
    package enum Finding: Equatable, Sendable {
        /// The vehicle has what it is to have, and that is what it reports.
        case settled(digest: UInt64?)
        /// Nothing is to be done before this moment, or before it says that its state is another.
        case holds(until: Timestamp?)
        /// Orders are on the way, or the fleet has changed since the book was read.
        case open
    }

    /// The commands that go with an answer.
    package struct Offer: Sendable {
        package var commands: [WaitingCommand]
        /// The counter of their signed list; nil: it is not signed.
        package var counter: Int64?
    }

    /// Takes up what has come back from a vehicle, and gives the orders that are next.
    ///
    /// - Returns: what there is to do, and what goes with the answer now; nil: what would have gone anyway.
    package static func advance(
        _ upload: Upload, _ book: FenceBook, in session: any Session
    ) throws(StoreError) -> (finding: Finding, offer: Offer?) {
        guard let plan = try plan(for: upload, book, in: session) else { return (.open, nil) }
        guard plan.finding == .open, !plan.isEmpty else { return (plan.finding, nil) }
        return try session.transaction { () throws(StoreError) in
            // The lock on the row: two orders must not get one number.
            let known = try session.run(
                "UPDATE devices SET revoked = revoked WHERE id = $1 AND revoked IS NULL RETURNING id",
                .integer(upload.device))
            guard !known.isEmpty, let plan = try self.plan(for: upload, book, in: session) else {
                return (.open, nil)
            }
            for number in plan.ended {
                try session.run(
                    "DELETE FROM commands WHERE device = $1 AND number = $2", .integer(upload.device),
                    .integer(number))
            }
            try write(plan.progress, of: upload.device, before: plan.former, in: session)
            guard !plan.drafts.isEmpty else { return (.open, nil) }
            try add(plan.drafts, for: upload, in: session)
            let (commands, counter) = try WaitingCommand.offer(
                to: upload.device, age: upload.age, latest: upload.latest, now: upload.now,
                counter: upload.counter, in: session)
            return (.open, Offer(commands: commands, counter: counter))
        }
    }

    // MARK: Planning

    private struct Plan {
        var former: FenceProgress?
        var progress: FenceProgress
        /// Numbers of the commands that have ended.
        var ended: [Int64]
        var drafts: [FenceProgress.Draft]
        var finding: Finding

        /// Whether nothing is to be written.
        var isEmpty: Bool { ended.isEmpty && drafts.isEmpty && progress == former ?? FenceProgress() }
    }

    /// - Returns: nil when the fleet is not that of the book any more.
    private static func plan(
        for upload: Upload, _ book: FenceBook, in session: any Session
    ) throws(StoreError) -> Plan? {
        guard try FleetRevision.read(from: session) == book.revision else { return nil }
        let rows = try session.run(
            """
            SELECT d.fleet_group, f.progress, p.status FROM devices d
                LEFT JOIN device_fences f ON f.device = d.id LEFT JOIN presence p ON p.device = d.id
            WHERE d.id = $1
            """, .integer(upload.device))
        guard let row = rows.first else { return nil }
        let former = row[1].text.map { FenceProgress(text: $0) }
        let target = book.entries(of: upload.device, in: row[0].integer)
        let fresh = upload.status.flatMap { Report($0) }
        let report = fresh ?? row[2].text.flatMap { Report(Array($0.utf8)) }
        let orders = try orders(of: upload, in: session)
        var progress = former ?? FenceProgress()
        let ended = orders.filter { $0.end != nil }
        for order in ended { progress.settle(order, now: upload.now) }
        let areUnderWay = orders.count > ended.count
        if let digest = fresh?.digest, former != nil || !target.isEmpty {
            progress.compare(digest, isLate: orders.isEmpty, to: target)
        }
        var drafts: [FenceProgress.Draft] = []
        if !areUnderWay {
            drafts = progress.next(
                target, for: FenceProgress.Word(state: report?.state, commands: report?.commands),
                room: try room(for: upload, in: session), now: upload.now)
        }
        var plan = Plan(
            former: former, progress: progress, ended: ended.map(\.number), drafts: drafts, finding: .open)
        if plan.isEmpty, !areUnderWay {
            plan.finding =
                progress.isSettled(target)
                ? .settled(digest: fresh?.digest)
                : .holds(until: progress.due.map { Timestamp(milliseconds: $0) })
        }
        return plan
    }

    /// The orders of a device that are under way, or have ended since it was looked at last.
    private static func orders(
        of upload: Upload, in session: any Session
    ) throws(StoreError) -> [FenceProgress.Order] {
        try session.run(
            """
            SELECT number, arguments, expires, finished, result FROM commands
            WHERE device = $1 AND author = $2 ORDER BY number
            """, .integer(upload.device), .text(author)
        ).compactMap { row in
            guard let number = row[0].integer, let text = row[1].text, let expires = row[2].integer else {
                return nil
            }
            let arguments = Arguments(text)
            var order = FenceProgress.Order(
                number: number, added: arguments.fingerprints, removed: arguments.ids ?? [])
            if row[3].integer != nil {
                order.end = row[4].text.map { Result($0).end } ?? .dropped
            } else if expires <= upload.age.milliseconds || number > WaitingCommand.last(upload.latest) {
                order.end = .dropped
            }
            return order
        }
    }

    /// Commands that one answer has room for beside those of people.
    private static func room(
        for upload: Upload, in session: any Session
    ) throws(StoreError) -> Int {
        let waiting = try session.run(
            """
            SELECT count(*), coalesce(sum(length(arguments)), 0) FROM commands
            WHERE device = $1 AND finished IS NULL AND expires > $2 AND number <= $3
            """, .integer(upload.device), .integer(upload.age.milliseconds),
            .integer(WaitingCommand.last(upload.latest))
        ).first
        // Theirs come first; with long ones, these come with the next answer.
        let isFull = (waiting?[1].integer ?? 0) > Int64(FenceProgress.longestOrder)
        return isFull ? 0 : max(0, WaitingCommand.most - Int(waiting?[0].integer ?? 0))
    }

    // MARK: Writing

    private static func write(
        _ progress: FenceProgress, of device: Int64, before former: FenceProgress?, in session: any Session
    ) throws(StoreError) {
        guard progress != former else { return }
        guard progress != FenceProgress() else {
            try session.run("DELETE FROM device_fences WHERE device = $1", .integer(device))
            return
        }
        try session.run(
            """
            INSERT INTO device_fences(device, digest, progress) VALUES ($1, $2, $3)
            ON CONFLICT (device) DO UPDATE SET digest = excluded.digest, progress = excluded.progress
            """, .integer(device), .integer(Int64(bitPattern: progress.digest)), .text(progress.text))
    }

    private static func add(
        _ drafts: [FenceProgress.Draft], for upload: Upload, in session: any Session
    ) throws(StoreError) {
        let last = try session.run(
            "SELECT max(number) FROM commands WHERE device = $1 AND number <= $2", .integer(upload.device),
            .integer(WaitingCommand.last(upload.latest))
        ).first?.first?.integer
        var number = max(upload.now.milliseconds, (last ?? 0) + 1)
        for draft in drafts {
            try session.run(
                """
                INSERT INTO commands(device, number, name, arguments, author, expires)
                VALUES ($1, $2, $3, $4, $5, $6)
                """, .integer(upload.device), .integer(number), .text(draft.command),
                .text(draft.arguments), .text(author),
                .integer(upload.age.advanced(bySeconds: CommandOrder.longest).milliseconds))
            number += 1
        }
    }

    // MARK: JSON of vehicles, and ours

    /// What a status says, as far as it matters here.
    private struct Report: Decodable {
        struct Fences: Decodable { var digest: String? }

        var state: String?
        var commands: [String]?
        var fences: Fences?

        var digest: UInt64? { fences?.digest.flatMap { UInt64($0, radix: 16) } }

        init?(_ text: [UInt8]) {
            guard let report = try? JSONDecoder().decode(Report.self, from: Data(text)) else { return nil }
            self = report
        }
    }

    private struct Result: Decodable {
        var ok = false
        var error: String?

        init(_ text: String) {
            guard let result = try? JSONDecoder().decode(Result.self, from: Data(text.utf8)) else { return }
            self = result
        }

        var end: FenceProgress.Order.End { ok ? .done : .refused(error ?? "failed") }
    }

    private struct Arguments: Decodable {
        struct Element: Decodable {
            var id: String
            var shape: FenceShape

            private enum CodingKeys: String, CodingKey { case id }

            init(from decoder: any Decoder) throws {
                id = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .id)
                shape = try FenceShape(from: decoder)
            }
        }

        var geofences: [Element]?
        var ids: [String]?

        init(_ text: String) {
            guard let arguments = try? JSONDecoder().decode(Arguments.self, from: Data(text.utf8)) else {
                return
            }
            self = arguments
        }

        /// By name.
        var fingerprints: [String: UInt64]? {
            geofences.map { elements in
                Dictionary(
                    elements.compactMap { element in
                        (try? element.shape.geofence(element.id)).map { (element.id, $0.fingerprint) }
                    }
                ) { $1 }
            }
        }
    }
}
