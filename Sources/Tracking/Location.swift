package import Base

/// Why a fix was admitted. The raw values are those of the wire format.
package enum Trigger: String, CaseIterable, Sendable {
    case interval
    case motion
    case checkIn = "check_in"
    case geofence
    case manual
}

/// Whether the vehicle is moving, as far as the fixes show.
package enum MotionState: String, CaseIterable, Sendable {
    case moving, stationary, unknown
}

/// The kind of movement, guessed from the speeds.
package enum Activity: String, CaseIterable, Sendable {
    case stationary, walking, running, cycling, automotive, unknown
}

/// Why a fix is doubtful. Informational: it never causes a fix to be dropped.
package enum Quality: String, CaseIterable, Sendable {
    case lowAccuracy = "low_accuracy"
    case implausibleSpeed = "implausible_speed"
}

/// An admitted fix, as it is stored, streamed and uploaded.
package struct Location: Equatable, Sendable {
    /// Minted once, at admission; its time part is the fix time.
    package var id: UUIDv7
    /// The session in which it was admitted; nil for a one-shot fix.
    package var session: UUIDv7?
    package var fix: Fix
    package var trigger: Trigger
    package var motion: MotionState
    /// nil when detection is off or no speed was reported.
    package var activity: Activity?
    /// nil when the fix is not doubtful.
    package var quality: Quality?
    /// Metres that the vehicle had driven since installation; nil when that was not known.
    package var mileage: Int64?
    /// Whether the ignition was on; nil where nothing tells, or it was not known then.
    package var ignition: Bool?
    /// The battery within the minute before; nil where there is none, or nobody is told of it.
    package var battery: Battery?

    package init(
        id: UUIDv7, session: UUIDv7?, fix: Fix, trigger: Trigger, motion: MotionState,
        activity: Activity? = nil, quality: Quality? = nil, mileage: Int64? = nil, ignition: Bool? = nil,
        battery: Battery? = nil
    ) {
        self.id = id
        self.session = session
        self.fix = fix
        self.trigger = trigger
        self.motion = motion
        self.activity = activity
        self.quality = quality
        self.mileage = mileage
        self.ignition = ignition
        self.battery = battery
    }
}
