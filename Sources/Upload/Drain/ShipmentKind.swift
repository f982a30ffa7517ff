/// What a request carries.
package enum ShipmentKind: Equatable, Sendable {
    /// A batch with rows, the same at each attempt.
    case rows
    /// The newest location, in a batch that is made anew for each attempt.
    case latest
    /// A batch without any: its status, results of commands, or nothing.
    case envelope
    /// Lines of the log, which are no batch.
    case log

    var hasRows: Bool {
        switch self {
        case .rows, .latest: true
        case .envelope, .log: false
        }
    }
}
