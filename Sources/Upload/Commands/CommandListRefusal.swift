/// Why no command of an answer is looked at. The acceptance of what the request carried stands.
package struct CommandListRefusal: Error, Equatable, Sendable {
    /// The raw values are those of the log and of the counters.
    package enum Kind: String, Sendable, CaseIterable {
        /// The answer is not JSON, or is nested too deep, or has a name twice, or is no list of commands.
        case malformed
        /// The answer has more than 64 KiB.
        case tooLarge = "too_large"
        /// The answer is compressed, which was not asked for.
        case compressed
        /// More than `max` in one answer.
        case tooMany = "too_many"
        /// More than ``CommandIntake/hourlyLimit`` within an hour.
        case tooOften = "too_often"
        /// Nobody has signed it, and `verify_keys` names keys.
        case unsigned
        /// The list is signed, and `verify_keys` names no key.
        case noKeys = "no_keys"
        /// None of the keys has signed it.
        case badSignature = "bad_signature"
        /// The list was signed for another vehicle.
        case otherVehicle = "other_vehicle"
        /// The time of the list is over.
        case expired
        /// The list says to have been issued more than a day from now.
        case counterAhead = "counter_ahead"
        /// A list with a higher counter has come before.
        case replayed
    }

    package let kind: Kind
    /// For the log: what is wrong, and what to do about it.
    package let detail: String

    init(_ kind: Kind, _ detail: String) {
        self.kind = kind
        self.detail = detail
    }
}
