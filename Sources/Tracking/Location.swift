/// Why a fix was admitted. The names are the wire format's.
public enum Trigger: String, CaseIterable, Sendable {
    case interval
    case motion
    case checkIn = "check_in"
    case geofence
    case manual
}

/// Whether the vehicle moves, as far as its fixes tell.
public enum MotionState: String, CaseIterable, Sendable {
    case moving, stationary, unknown
}

/// What kind of movement the speeds suggest.
public enum Activity: String, CaseIterable, Sendable {
    case stationary, walking, running, cycling, automotive, unknown
}

/// What is doubtful about a fix. It informs; it never drops one.
public enum Quality: String, CaseIterable, Sendable {
    case lowAccuracy = "low_accuracy"
    case implausibleSpeed = "implausible_speed"
}

/// An admitted fix, as it is stored, streamed and uploaded.
public struct Location: Equatable, Sendable {
    /// Minted once, at admission; its time part is the fix time.
    public var id: UUIDv7
    /// The session that it was admitted in; nil for a one-shot fix.
    public var session: UUIDv7?
    /// Where the vehicle was.
    public var fix: Fix
    /// Why it was admitted.
    public var trigger: Trigger
    /// Whether the vehicle was moving.
    public var motion: MotionState
    /// nil when detection is off or no speed was reported.
    public var activity: Activity?
    /// nil when the fix is good.
    public var quality: Quality?

    /// Everything is given by whoever admits the fix.
    public init(
        id: UUIDv7, session: UUIDv7?, fix: Fix, trigger: Trigger, motion: MotionState,
        activity: Activity? = nil, quality: Quality? = nil
    ) {
        self.id = id
        self.session = session
        self.fix = fix
        self.trigger = trigger
        self.motion = motion
        self.activity = activity
        self.quality = quality
    }
}
