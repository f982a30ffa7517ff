package import Base

/// For how long there has been no default route, as far as changes of routes tell. Pure: time is an argument.
package struct RouteLoss: Equatable, Sendable {
    /// nil while there is a route.
    private var since: BootInstant?
    /// A change has been seen. Before that nobody knows whether there is a route.
    private var hasChanged = false

    /// Until a change is seen, there has been no route since the start.
    package init(now: BootInstant) {
        since = now
    }

    /// A route is gone. If it is the first change, there was one until now.
    package mutating func vanished(now: BootInstant) {
        since = hasChanged ? since ?? now : now
        hasChanged = true
    }

    /// There is a route.
    ///
    /// - Returns: seconds without; 0 when there was another one.
    package mutating func appeared(now: BootInstant) -> Double {
        defer { (since, hasChanged) = (nil, true) }
        return since.map { now.seconds(since: $0) } ?? 0
    }
}
