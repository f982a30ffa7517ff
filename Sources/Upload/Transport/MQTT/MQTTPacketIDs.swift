/// The packet ids of one connection, 1…65,535: the first is anywhere, and each is a random step above the one before. Pure.
///
/// A broker may send a PUBACK too much: the same one twice, or one for the next message. Neither the last id nor the number
/// behind it is ever that of the message under way by then; any other guess is right by chance only.
struct MQTTPacketIDs: Sendable {
    static let steps: ClosedRange<UInt16> = 2...32_767

    private var last: UInt16

    init(using random: inout some RandomNumberGenerator) {
        last = UInt16.random(in: 1 ... .max, using: &random)
    }

    mutating func next(using random: inout some RandomNumberGenerator) -> UInt16 {
        let (sum, isOver) = last.addingReportingOverflow(.random(in: Self.steps, using: &random))
        // Above 65,535 they go on from 1: 0 is no id.
        last = isOver ? sum + 1 : sum
        return last
    }
}
