/// The words of a location and its `is_mock`, in eleven bits, as they are stored. A number never changes its meaning.
package struct Codes: RawRepresentable, Hashable, Sendable {
    /// Trigger in bits 0…2, motion in 3…4, `is_mock` in 5, activity in 6…8 and quality in 9…10, both 0 when absent.
    package var rawValue: Int16

    /// Any number: words that are not known read as nil.
    package init(rawValue: Int16) {
        self.rawValue = rawValue
    }

    static let triggers: [StaticString] = ["interval", "motion", "check_in", "geofence", "manual"]
    static let motions: [StaticString] = ["moving", "stationary", "unknown"]
    static let activities: [StaticString] = [
        "stationary", "walking", "running", "cycling", "automotive", "unknown",
    ]
    static let qualities: [StaticString] = ["low_accuracy", "implausible_speed"]

    init() {
        rawValue = 0
    }

    mutating func set(trigger index: Int) { rawValue |= Int16(index & 7) }
    mutating func set(motion index: Int) { rawValue |= Int16(index & 3) << 3 }
    mutating func set(isMock: Bool) { rawValue |= isMock ? 1 << 5 : 0 }
    mutating func set(activity index: Int) { rawValue |= Int16((index + 1) & 7) << 6 }
    mutating func set(quality index: Int) { rawValue |= Int16((index + 1) & 3) << 9 }

    /// Why the fix was admitted.
    package var trigger: String? { Self.word(rawValue & 7, Self.triggers) }
    /// Whether the vehicle moved.
    package var motion: String? { Self.word(rawValue >> 3 & 3, Self.motions) }
    /// Whether the fix was simulated.
    package var isMock: Bool { rawValue >> 5 & 1 == 1 }
    /// nil when the location had none.
    package var activity: String? { Self.word((rawValue >> 6 & 7) - 1, Self.activities) }
    /// nil when nothing is doubtful.
    package var quality: String? { Self.word((rawValue >> 9 & 3) - 1, Self.qualities) }

    private static func word(_ index: Int16, _ words: [StaticString]) -> String? {
        words.indices.contains(Int(index)) ? words[Int(index)].description : nil
    }
}
