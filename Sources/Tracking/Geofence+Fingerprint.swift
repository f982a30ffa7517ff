internal import Base

extension Geofence {
    /// A number that fences have in common which are alike in everything that was asked for. It is the same on all machines and in
    /// all versions: FNV-1a of 64 bits (Fowler, Noll, Vo) over the id in UTF-8, a zero byte, a byte with 1 for entries and 2 for exits, the
    /// dwell time, and the numbers of the shape: latitude and longitude of each corner as they are kept, counterclockwise from the
    /// first; or those of the centre, and the radius. Numbers are IEEE 754 doubles, big-endian; no dwell time is 0, and so is −0.
    public var fingerprint: UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        func add(_ value: Double) {
            let bits = (value == 0 ? 0 : value).bitPattern
            for shift in stride(from: 56, through: 0, by: -8) {
                add(byte: UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
            }
        }
        for byte in id.utf8 { add(byte: byte) }
        add(byte: 0)
        add(byte: (notifiesOnEntry ? 1 : 0) | (notifiesOnExit ? 2 : 0))
        add(dwell ?? 0)
        for corner in polygon?.corners ?? [centre] {
            add(corner.latitude)
            add(corner.longitude)
        }
        if polygon == nil { add(radius) }
        return hash
    }
}

extension Geofences {
    /// What a server can compare its fences with.
    package struct Summary: Equatable, Sendable {
        package var count: Int
        /// The sum of the fingerprints, modulo 2⁶⁴: in whatever order they were added.
        package var digest: UInt64

        package init(count: Int, digest: UInt64) {
            self.count = count
            self.digest = digest
        }
    }

    /// A summary of the fences that servers have added.
    package var summaryOfServers: Summary {
        let fences = ofServers.map(\.fence)
        return Summary(count: fences.count, digest: fences.reduce(0) { $0 &+ $1.fingerprint })
    }
}
