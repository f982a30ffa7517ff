/// Decides when the newest location goes to a destination that is only to know where the vehicle is now. Pure.
///
/// Locations are known by a number that grows with each that is stored. A drain delivers one at most, so that nothing but a
/// trigger makes the next one go; an attempt that is broken off is followed by what is newest by then.
package struct LatestLane: Equatable, Sendable {
    /// 1 is the first location that was stored since the start.
    package typealias Number = Int

    /// The newest that was accepted; 0: none was.
    private var accepted: Number = 0
    /// What is under way.
    private var current: Number?
    /// The present drain has delivered one.
    private var hasDelivered = false

    /// The server has got nothing yet.
    package init() {}

    /// Whether there is something that the server does not have.
    ///
    /// - Parameter newest: nil: nothing has been stored since the start, or it has been deleted.
    package func isNews(_ newest: Number?) -> Bool {
        newest.map { $0 > accepted } ?? false
    }

    /// A drain begins.
    package mutating func begin() {
        current = nil
        hasDelivered = false
    }

    /// Whether a request is to be made of the newest location now.
    package mutating func takes(_ newest: Number?) -> Bool {
        current = !hasDelivered && isNews(newest) ? newest : nil
        return current != nil
    }

    /// The server has what is under way.
    package mutating func delivered() {
        accepted = current ?? accepted
        current = nil
        hasDelivered = true
    }
}
