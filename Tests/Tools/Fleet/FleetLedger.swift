package import Base

/// What the whole fleet has come to.
package struct FleetLedger: Equatable, Sendable {
    /// Rows that the server has stored, each once.
    package internal(set) var received = 0
    /// Batches that the server got again.
    package internal(set) var repeated = 0
    /// Bytes of the latest envelope without rows.
    var heartbeatBytes = 0
    /// Seconds that a vehicle has waited at most, online with something pending, until something was accepted.
    package internal(set) var longestWait = 0.0
    /// When what had happened was over; nil: it is not.
    package internal(set) var returned: BootInstant?

    mutating func noteReturn(_ now: BootInstant) {
        returned = now
    }

    mutating func note(_ member: Member, acceptedAt now: BootInstant) {
        guard let since = member.waitsSince else { return }
        longestWait = max(longestWait, now.seconds(since: since))
    }
}

/// Each row has one place.
package struct Account: Equatable, Sendable {
    package var stored = 0
    package var acknowledged = 0
    package var pending = 0
    /// Rows that the server has, and of which the vehicle does not know that yet.
    package var unsure = 0
    package var received = 0

    /// Whether nothing is lost, and nothing is there twice.
    package var isBalanced: Bool { stored == acknowledged + pending && received == acknowledged + unsure }
}

extension Fleet {
    /// What has become of all rows. Those that were driven since the last upload are not stored yet.
    package var account: Account {
        var account = Account(received: ledger.received)
        for member in members {
            account.stored += member.rows.stored
            account.acknowledged += member.rows.acknowledged
            account.pending += member.rows.pending
            if member.rows.isReceived { account.unsure += member.rows.frozen }
        }
        return account
    }

    /// Vehicles that have waited for much longer than their interval, online, with something pending.
    package func late(at now: BootInstant) -> Int {
        members.count { member in
            member.waitsSince.map { now.seconds(since: $0) > 2 * member.habits.interval + 60 } ?? false
        }
    }

    /// The longest that a vehicle waits that still does, in seconds.
    package func longestWaiting(at now: BootInstant) -> Double {
        members.compactMap { member in member.waitsSince.map { now.seconds(since: $0) } }.max() ?? 0
    }
}
