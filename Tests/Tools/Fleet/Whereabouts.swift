internal import Base
internal import Upload

/// The power and the network of one vehicle.
struct Whereabouts: Sendable {
    enum Power: Sendable { case off, booting, on }

    var power = Power.off
    var isDriving = false
    /// A power cut of the region holds it down.
    var isCut = false
    /// Nobody in the region has a network.
    var isDark = false
    /// There is a default route.
    var hasRoute = false
    /// How long there was none, as the daemon sees it.
    var loss: RouteLoss
    /// When driving begins or ends.
    var dutyEdge = Agenda.never
    /// When the boot ends, or the power goes.
    var powerEdge = Agenda.never
    /// When the network comes or goes.
    var routeEdge = Agenda.never

    /// The earliest of these.
    var due: BootInstant { min(dutyEdge, powerEdge, routeEdge) }
    /// What is stored could be uploaded.
    var isOnline: Bool { power == .on && hasRoute }
}
