internal import Accounts

/// Tokens of devices as they were read, for as many bytes as there is room for; of more devices, those go that were not asked for
/// the longest. A value.
struct TokenMemory {
    /// What is known of one device.
    struct Known {
        /// The access tokens of the device.
        var tokens: DeviceTokens
        /// When the database was asked.
        var asOf: ContinuousClock.Instant

        /// Bytes that it takes, about: the value with its place in a table that is half full, and each record with its hash.
        var size: Int { 200 + 200 * tokens.records.count }
    }

    /// Bytes of one half.
    private let room: Int
    /// Devices that were asked for since the other half was full.
    private var young: [Int64: Known] = [:]
    private var old: [Int64: Known] = [:]
    /// Bytes of the young half.
    private var size = 0

    init(bytes: Int) {
        room = bytes / 2
    }

    /// Devices of which something is known.
    var count: Int { young.count + old.count }

    mutating func find(_ device: Int64) -> Known? {
        if let known = young[device] { return known }
        guard let known = old[device] else { return nil }
        insert(known, for: device)
        return known
    }

    mutating func insert(_ known: Known, for device: Int64) {
        remove(device)
        if size + known.size > room {
            old = young
            young = [:]
            size = 0
        }
        young[device] = known
        size += known.size
    }

    mutating func remove(_ device: Int64) {
        old[device] = nil
        if let known = young.removeValue(forKey: device) { size -= known.size }
    }
}
