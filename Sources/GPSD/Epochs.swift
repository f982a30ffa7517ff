package import Base
internal import Tracking

/// Merges the TPVs of one measurement instant: gpsd sends a TPV for each NMEA sentence that adds information, each
/// more complete than the one before.
///
/// An epoch closes when a TPV with another time arrives, when it holds as many TPVs as the fullest of the device's
/// last five epochs, or after `patience` without one. A TPV that arrives after its epoch has closed, and before another
/// one has, is not a new fix; it makes the following epochs wait for one more. Any other that tells of an instant again
/// is an epoch of its own, which `ReceiverTime` knows for what it is.
package struct Epochs: Sendable {
    /// Seconds without a TPV after which an epoch counts as complete.
    package static let patience = 1.5
    /// Number of past epochs whose TPV counts are kept.
    private static let epochsRemembered = 5
    /// Upper bound on a TPV count: a receiver whose clock is stuck repeats the same instant for ever.
    private static let countLimit = 16
    /// gpsd itself supports at most four.
    private static let deviceLimit = 16

    private struct Device {
        var name: String
        var open: OpenEpoch?
        var closedTime: Timestamp?
        /// TPV counts of the latest closed epochs.
        var counts: [Int] = []
    }

    private struct OpenEpoch {
        var tpv: TPV
        var time: Timestamp
        var count: Int
        var updated: BootInstant
    }

    private var devices: [Device] = []

    package init() {}

    /// Adds a TPV; one without a time is ignored.
    ///
    /// - Returns: the epochs that it closes, oldest first; at most two.
    package mutating func add(_ tpv: TPV, now: BootInstant) -> [TPV] {
        var closed: [TPV] = []
        add(tpv, now: now, into: &closed)
        return closed
    }

    /// Adds a report, appending the epochs that it closes to an array whose storage is reused.
    mutating func add(_ tpv: TPV, now: BootInstant, into closed: inout [TPV]) {
        guard let time = tpv.time else { return }
        let index = index(of: tpv.device)
        // A TPV of the epoch just closed is late, unless the open epoch is a later one: then the receiver's time
        // stepped back.
        if devices[index].closedTime == time, devices[index].open.map({ $0.time > time }) ?? true {
            countLate(index)
            return
        }
        if let open = devices[index].open, open.time != time, let epoch = close(index) {
            closed.append(epoch)
        }
        if devices[index].open == nil {
            devices[index].open = OpenEpoch(tpv: tpv, time: time, count: 1, updated: now)
        } else {
            devices[index].open?.tpv.merge(tpv)
            devices[index].open?.count += 1
            devices[index].open?.updated = now
        }
        if let expected = devices[index].counts.max(), let open = devices[index].open, open.count >= expected,
            let epoch = close(index)
        {
            closed.append(epoch)
        }
    }

    /// Closes the epochs that have waited long enough.
    package mutating func expire(now: BootInstant) -> [TPV] {
        devices.indices.compactMap { index in
            guard let open = devices[index].open, now.seconds(since: open.updated) >= Self.patience else {
                return nil
            }
            return close(index)
        }
    }

    /// Closes all epochs, because the connection or tracking ends.
    package mutating func flush() -> [TPV] {
        devices.indices.compactMap { close($0) }
    }

    /// When `expire` next has something to do.
    package var deadline: BootInstant? {
        devices.compactMap { $0.open?.updated.advanced(bySeconds: Self.patience) }.min()
    }

    private mutating func close(_ index: Int) -> TPV? {
        guard let open = devices[index].open else { return nil }
        devices[index].open = nil
        devices[index].closedTime = open.time
        devices[index].counts.append(min(open.count, Self.countLimit))
        if devices[index].counts.count > Self.epochsRemembered { devices[index].counts.removeFirst() }
        return open.tpv
    }

    private mutating func countLate(_ index: Int) {
        guard let last = devices[index].counts.indices.last else { return }
        devices[index].counts[last] = min(devices[index].counts[last] + 1, Self.countLimit)
    }

    private mutating func index(of name: String) -> Int {
        if let known = devices.firstIndex(where: { $0.name == name }) { return known }
        if devices.count >= Self.deviceLimit { devices.removeFirst() }
        devices.append(Device(name: name))
        return devices.count - 1
    }
}

extension TPV {
    /// Merges a later report of the same instant: values it has replace the earlier ones.
    mutating func merge(_ later: TPV) {
        mode = later.mode
        latitude = later.latitude ?? latitude
        longitude = later.longitude ?? longitude
        eph = later.eph ?? eph
        epx = later.epx ?? epx
        epy = later.epy ?? epy
        speed = later.speed ?? speed
        bearing = later.bearing ?? bearing
        altitude = later.altitude ?? altitude
        isSimulated = isSimulated || later.isSimulated
    }

    /// The epoch as a fix; nil without a fix, a time, or a valid position.
    var fix: Fix? {
        guard mode >= 2, let time, let latitude, let longitude,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        return Fix(
            device: device, time: time, mode: min(mode, 3), coordinate: coordinate, accuracy: accuracy,
            speed: speed,
            bearing: bearing, altitude: mode >= 3 ? altitude : nil, isMock: isSimulated)
    }
}
