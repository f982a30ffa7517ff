internal import Base
internal import SQLite
internal import Tracking

/// A location as a row: the mapping between the domain's words and the stored codes, in one place.
struct LocationRow {
    var key: RowKey
    var session: Int64
    var extras: Int64
    /// Metres of the session so far, this fix included.
    var odometer: Double
    var location: Location

    // The position in each list is the stored code: append only.
    private static let triggers: [Trigger] = [.interval, .motion, .checkIn, .geofence, .manual]
    private static let motions: [MotionState] = [.unknown, .moving, .stationary]
    private static let activities: [Activity] = [
        .unknown, .stationary, .walking, .running, .cycling, .automotive,
    ]
    private static let qualities: [Quality] = [.lowAccuracy, .implausibleSpeed]
    private static let batteryStates: [Battery.State] = [.unknown, .unplugged, .charging, .full]

    /// Runs a statement whose parameters are `Schema.columns`: each is bound where it lies, for this is done for every fix.
    func run(_ insert: borrowing Statement) throws(SQLiteError) {
        let fix = location.fix
        insert.reset()
        try insert.bind(.integer(key.ts), 1)
        try insert.bind(.integer(key.seq), 2)
        try insert.bind(.integer(session), 3)
        try location.id.withBytes { (bytes) throws(SQLiteError) in try insert.bind(blob: bytes, 4) }
        try insert.bind(.real(fix.coordinate.latitude), 5)
        try insert.bind(.real(fix.coordinate.longitude), 6)
        try insert.bind(.optional(fix.accuracy), 7)
        try insert.bind(.optional(fix.speed), 8)
        try insert.bind(.optional(fix.bearing), 9)
        try insert.bind(.optional(fix.altitude), 10)
        try insert.bind(.integer(Int64(fix.mode)), 11)
        try insert.bind(Self.code(of: location.trigger, in: Self.triggers), 12)
        try insert.bind(Self.code(of: location.motion, in: Self.motions), 13)
        try insert.bind(Self.code(of: location.activity, in: Self.activities), 14)
        try insert.bind(Self.code(of: location.quality, in: Self.qualities), 15)
        try insert.bind(.integer(fix.isMock ? 1 : 0), 16)
        try insert.bind(.integer(extras), 17)
        try insert.bind(.real(odometer), 18)
        try insert.bind(.optional(location.mileage), 19)
        try insert.bind(.optional(location.ignition.map { $0 ? 1 as Int64 : 0 }), 20)
        try insert.bind(.optional(location.battery.map(Self.code)), 21)
        try insert.run()
    }

    /// Reads a row that was selected with `Schema.columns`.
    ///
    /// - Parameter sessionID: the session behind the row's key.
    /// - Returns: nil for a row that no version of beekond writes: the file is not to be trusted blindly.
    init?(_ row: borrowing Statement, sessionID: (Int64) -> UUIDv7?) {
        key = RowKey(ts: row.integer(0), seq: row.integer(1))
        session = row.integer(2)
        extras = row.integer(16)
        odometer = row.real(17)
        guard let id = row.withBlob(3, { UUIDv7(bytes: $0) }),
            let coordinate = Coordinate(latitude: row.real(4), longitude: row.real(5)),
            let trigger = Self.value(row.integer(11), in: Self.triggers),
            let motion = Self.value(row.integer(12), in: Self.motions)
        else { return nil }
        location = Location(
            id: id, session: sessionID(session),
            fix: Fix(
                time: Timestamp(milliseconds: key.ts), mode: row.integer(10) == 3 ? 3 : 2,
                coordinate: coordinate,
                accuracy: row.optionalReal(6), speed: row.optionalReal(7), bearing: row.optionalReal(8),
                altitude: row.optionalReal(9), isMock: row.integer(15) != 0),
            trigger: trigger, motion: motion,
            activity: row.optionalInteger(13).flatMap { Self.value($0, in: Self.activities) },
            quality: row.optionalInteger(14).flatMap { Self.value($0, in: Self.qualities) },
            mileage: row.optionalInteger(18).flatMap { $0 >= 0 ? $0 : nil },
            ignition: row.optionalInteger(19).map { $0 != 0 },
            battery: row.optionalInteger(20).flatMap(Self.battery))
    }

    init(key: RowKey, session: Int64, extras: Int64, odometer: Double, location: Location) {
        self.key = key
        self.session = session
        self.extras = extras
        self.odometer = odometer
        self.location = location
    }

    static func code(of motion: MotionState) -> Value { code(of: motion, in: motions) }

    static func motion(_ code: Int64) -> MotionState? { value(code, in: motions) }

    /// The percentage, and in the lowest three bits the state.
    private static func code(of battery: Battery) -> Int64 {
        Int64(battery.percent) << 3 | Int64(batteryStates.firstIndex(of: battery.state) ?? 0)
    }

    private static func battery(_ code: Int64) -> Battery? {
        guard let state = value(code & 7, in: batteryStates), (0...100).contains(code >> 3) else {
            return nil
        }
        return Battery(percent: Int(code >> 3), state: state)
    }

    private static func code<Case: Equatable>(of value: Case?, in list: [Case]) -> Value {
        .optional(value.flatMap { list.firstIndex(of: $0) }.map(Int64.init))
    }

    private static func value<Case>(_ code: Int64, in list: [Case]) -> Case? {
        Int(exactly: code).flatMap { list.indices.contains($0) ? list[$0] : nil }
    }
}
