internal import Base
internal import SQLite
internal import Tracking

/// An event as a row: the mapping between the domain's words and the stored codes, in one place.
struct EventRow {
    /// What has become of the event, as stored in the column `uploaded`.
    enum Custody: Int64 {
        /// To be sent to some destination, now or later.
        case pending = 0
        /// Kept although every destination has received it.
        case received = 1
        /// For no destination: its kind is not uploaded.
        case local = 2
    }

    /// Events are numbered separately: the numbers of locations give the count of a session.
    var key: RowKey
    var session: Int64
    var extras: Int64
    var custody = Custody.pending
    /// Without its session, of which the row has only the key.
    private var stored: RecordedEvent

    var id: UUIDv7 { stored.id }
    var time: EventTime { stored.time }
    /// No crossing.
    var isOfVehicle: Bool { if case .vehicle = stored { true } else { false } }
    /// nil for one of the vehicle.
    var crossing: Crossing? { if case .crossing(let event) = stored { event.crossing } else { nil } }
    /// Bytes of the longest text: a damaged file may hold any.
    var longestText: Int {
        switch stored {
        case .crossing(let event): event.crossing.geofence.utf8.count
        case .vehicle(let event): max(event.subject?.utf8.count ?? 0, event.data?.utf8.count ?? 0)
        }
    }

    /// In the order of `values`: what a dead letter has as well.
    static let columns =
        "seq, ts, session, id, kind, subject, extras, lat, lng, accuracy, fence_added_at, is_estimated, data"
    /// The number of the first column behind these.
    static let columnCount: Int32 = 13
    /// When an event has no time yet. In the order of `bootValues`.
    static let bootColumns = "boot_id, boot_time"

    // The position in the lists is the stored code: append only. Those of the vehicle follow the crossings.
    private static let crossings: [Crossing.Kind] = [.enter, .exit]
    private static let happenings: [VehicleEvent.Happening] = [
        .dwell, .ignitionOn, .ignitionOff, .powerLost, .powerBack, .tripStarted, .tripEnded, .odometerSet,
    ]

    /// The stored codes.
    static func codes(crossings: Bool, _ kinds: Set<VehicleEvent.Kind>) -> [Int] {
        let own = happenings.indices.filter { kinds.contains(happenings[$0].kind) }
        return (crossings ? Array(Self.crossings.indices) : []) + own.map { Self.crossings.count + $0 }
    }

    /// The columns, where what goes into an upload as it is must be right: for a file that was damaged.
    static let checkedColumns = columns.dropLast("data".count) + "CASE WHEN json_valid(data) THEN data END"

    init(seq: Int64, session: Int64, extras: Int64, event: RecordedEvent) {
        key = RowKey(ts: RowKey.ts(of: event.time), seq: seq)
        self.session = session
        self.extras = extras
        stored = event
    }

    /// The values for `columns`.
    var values: [Value] {
        switch stored {
        case .crossing(let event):
            values(
                kind: Self.crossings.firstIndex(of: event.crossing.kind) ?? 0, event.crossing.geofence,
                event.coordinate, event.accuracy, event.fenceAddedAt,
                data: event.reason.map(Self.data(for:)))
        case .vehicle(let event):
            values(
                kind: Self.crossings.count + (Self.happenings.firstIndex(of: event.happening) ?? 0),
                event.subject, event.place?.coordinate, event.place?.accuracy, nil, data: event.data)
        }
    }

    private func values(
        kind: Int, _ subject: String?, _ coordinate: Coordinate?, _ accuracy: Double?, _ addedAt: Timestamp?,
        data: String?
    ) -> [Value] {
        var (ts, isEstimated): (Int64?, Bool) = (nil, false)
        if case .known(let time, let estimated) = stored.time {
            (ts, isEstimated) = (time.milliseconds, estimated)
        }
        return [
            .integer(key.seq), .optional(ts), .integer(session), .blob(id.bytes), .integer(Int64(kind)),
            subject.map { .text($0) } ?? .null, .integer(extras), .optional(coordinate?.latitude),
            .optional(coordinate?.longitude), .optional(accuracy), .optional(addedAt?.milliseconds),
            .integer(isEstimated ? 1 : 0), data.map { .text($0) } ?? .null,
        ]
    }

    /// The values for `bootColumns`.
    var bootValues: [Value] {
        switch stored.time {
        case .known: [.null, .null]
        case .pending(let boot, let instant): [.blob(boot.bytes), .integer(instant.nanoseconds)]
        }
    }

    /// Reads a row that was selected with `columns`; nil for one that no version of beekond writes.
    ///
    /// - Parameter boot: the first of `bootColumns`, if those were selected, too; without them an event that has no time is
    ///   nil.
    init?(_ row: borrowing Statement, boot: Int32? = nil) {
        guard let id = UUIDv7(bytes: row.blob(3)), let code = Int(exactly: row.integer(4)), code >= 0,
            let time = Self.time(row, boot: boot)
        else { return nil }
        session = row.integer(2)
        extras = row.integer(6)
        key = RowKey(ts: RowKey.ts(of: time), seq: row.integer(0))
        let coordinate = row.optionalReal(7).flatMap { latitude in
            row.optionalReal(8).flatMap { Coordinate(latitude: latitude, longitude: $0) }
        }
        if Self.crossings.indices.contains(code) {
            guard let geofence = row.text(5), case .known(let moment, _) = time else { return nil }
            stored = .crossing(
                GeofenceEvent(
                    id: id, session: id,
                    crossing: Crossing(geofence: geofence, kind: Self.crossings[code], time: moment),
                    coordinate: coordinate, accuracy: row.optionalReal(9),
                    fenceAddedAt: row.optionalInteger(10).map { Timestamp(milliseconds: $0) },
                    reason: row.text(12).flatMap(Self.reason(in:))))
        } else {
            let place = code - Self.crossings.count
            guard Self.happenings.indices.contains(place) else { return nil }
            stored = .vehicle(
                VehicleEvent(
                    id: id, session: id, happening: Self.happenings[place], subject: row.text(5),
                    data: row.text(12), time: time,
                    place: coordinate.map { .init($0, accuracy: row.optionalReal(9)) }))
        }
    }

    /// What `data` says of a crossing that no fix has shown.
    private static func data(for reason: GeofenceEvent.Reason) -> String {
        "{\"reason\":\"\(reason.rawValue)\"}"
    }

    /// - Returns: nil for one that a later version has added.
    private static func reason(in data: String) -> GeofenceEvent.Reason? {
        GeofenceEvent.Reason.allCases.first { Self.data(for: $0) == data }
    }

    private static func time(_ row: borrowing Statement, boot: Int32?) -> EventTime? {
        if let ts = row.optionalInteger(1) {
            return .known(Timestamp(milliseconds: ts), isEstimated: row.integer(11) != 0)
        }
        guard let boot, let id = BootID(bytes: row.blob(boot)) else { return nil }
        return .pending(id, BootInstant(nanoseconds: row.integer(boot + 1)))
    }

    func event(session: UUIDv7) -> RecordedEvent {
        var event = stored
        event.session = session
        return event
    }
}

extension RowKey {
    /// Stands for a time that is not known yet: later than all others.
    static let untimed = Int64.max

    static func ts(of time: EventTime) -> Int64 {
        switch time {
        case .known(let time, _): time.milliseconds
        case .pending: untimed
        }
    }
}

extension Sequence<EventRow> {
    /// Divided by where they go in a batch.
    func events(session: UUIDv7) -> (crossings: [GeofenceEvent], vehicle: [VehicleEvent]) {
        var found: (crossings: [GeofenceEvent], vehicle: [VehicleEvent]) = ([], [])
        for row in self {
            switch row.event(session: session) {
            case .crossing(let event): found.crossings.append(event)
            case .vehicle(let event): found.vehicle.append(event)
            }
        }
        return found
    }
}
