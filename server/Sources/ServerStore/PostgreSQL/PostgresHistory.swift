/// What a PostgreSQL says of itself at a connect.
struct PostgresIdentity: Equatable, Sendable {
    /// Whether it follows a primary, and takes no changes.
    var isStandby = false
    /// Whether it takes no changes, by its settings.
    var isReadOnly = false
    /// The system identifier, which a cluster gets from initdb and has in common with its standbys; nil where it is not told.
    var system: Int64?
    /// The timeline, which goes up by one when a standby is promoted; nil of a standby, and where it is not told.
    var timeline: Int64?
    /// The highest timeline of its system that servers have noted in this database; nil: none.
    var noted: Int64?
    /// The database has a table for that.
    var hasNotes = false
    /// Id of the process that serves the connection.
    var process: Int64 = 0
}

/// Which of several PostgreSQL is the primary. One that was primary before a standby was promoted takes changes as before when it
/// comes back, and so would split what is stored: it is told by its timeline, which is lower.
struct PostgresHistory: Equatable, Sendable {
    /// Why one is not used.
    enum Refusal: Equatable, Sendable {
        case standby
        case readOnly
        /// An old primary that has come back.
        case older(timeline: Int64, highest: Int64)
        /// Another cluster than the one that this process has begun with.
        case otherCluster
        /// There is another cluster beside it, and it is not known which is meant.
        case ambiguous

        /// Whether it takes changes that would be lost.
        var isStray: Bool {
            switch self {
            case .standby, .readOnly: false
            case .older, .otherCluster, .ambiguous: true
            }
        }

        /// What is wrong with it, and what to do.
        var text: String {
            switch self {
            case .standby: "it is a standby"
            case .readOnly: "it takes no changes: default_transaction_read_only is on"
            case .older(let timeline, let highest):
                "it is on timeline \(timeline), and \(highest) was seen: an old primary that has come back. "
                    + "Make it a standby of the new one; or, if you have gone back to it on purpose: "
                    + "beekon-server timeline accept"
            case .otherCluster:
                "it is another cluster than the one this server began with; if that is meant, restart beekon-server"
            case .ambiguous: "the hosts of the address are different clusters: name those of one"
            }
        }
    }

    /// The system identifier of the cluster that this process has begun with; nil before.
    private(set) var system: Int64?
    /// The highest timeline that was seen of the cluster.
    private(set) var timeline: Int64 = 0

    /// - Parameter found: all that answer, in the order of the address.
    /// - Returns: the place of the primary, and why each of the others is not used.
    mutating func judge(_ found: [PostgresIdentity]) -> (chosen: Int?, refusals: [Int: Refusal]) {
        var refusals: [Int: Refusal] = [:]
        for (place, one) in found.enumerated() {
            if one.isStandby {
                refusals[place] = .standby
            } else if one.isReadOnly {
                refusals[place] = .readOnly
            }
        }
        func rest() -> [Int] { found.indices.filter { refusals[$0] == nil } }
        let systems = Set(rest().compactMap { found[$0].system })
        if let system {
            for place in rest() where (found[place].system ?? system) != system {
                refusals[place] = .otherCluster
            }
        } else if systems.count > 1 {
            for place in rest() { refusals[place] = .ambiguous }
        }
        let highest = rest().reduce(timeline) { max($0, found[$1].timeline ?? 0, found[$1].noted ?? 0) }
        for place in rest() {
            guard let timeline = found[place].timeline, timeline < highest else { continue }
            refusals[place] = .older(timeline: timeline, highest: highest)
        }
        timeline = highest
        let chosen = rest().first
        if let chosen { system = system ?? found[chosen].system }
        return (chosen, refusals)
    }
}
