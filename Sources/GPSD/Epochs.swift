public import Tracking

/// Merges the TPVs of one measurement instant: gpsd sends one for each sentence of the receiver that tells something new,
/// each fuller than the last.
///
/// An epoch closes when a TPV with another time arrives, when it holds as many TPVs as the fullest of this device's last
/// five, or after `patience` without one. A TPV that comes after its epoch has closed is not a new fix; it makes the
/// following epochs wait for as many.
public struct Epochs: Sendable {
    /// Seconds without a TPV after which an epoch is as full as it gets.
    public static let patience = 1.5
    /// Epochs whose fullness is remembered.
    private static let memory = 5
    /// A receiver whose time stands still sends the same instant for ever.
    private static let fullest = 16
    /// gpsd itself holds at most four.
    private static let deviceLimit = 16

    private struct Device {
        var name: String
        var open: Open?
        var closedTime: Timestamp?
        /// How many TPVs the last closed epochs held.
        var counts: [Int] = []
    }

    private struct Open {
        var tpv: TPV
        var time: Timestamp
        var count: Int
        var updated: BootInstant
    }

    private var devices: [Device] = []

    /// No device is known yet.
    public init() {}

    /// Takes a TPV with a time.
    ///
    /// - Returns: the epochs that this one closes, oldest first: at most two.
    public mutating func add(_ tpv: TPV, now: BootInstant) -> [TPV] {
        var closed: [TPV] = []
        add(tpv, now: now, into: &closed)
        return closed
    }

    /// The same, with the epochs appended to an array whose room is used again and again.
    mutating func add(_ tpv: TPV, now: BootInstant, into closed: inout [TPV]) {
        guard let time = tpv.time else { return }
        let index = index(of: tpv.device)
        // Behind an earlier instant it is no latecomer: the receiver's time had gone back, and is here again.
        if devices[index].closedTime == time, devices[index].open.map({ $0.time > time }) ?? true {
            countLate(index)
            return
        }
        if let open = devices[index].open, open.time != time, let epoch = close(index) {
            closed.append(epoch)
        }
        if devices[index].open == nil {
            devices[index].open = Open(tpv: tpv, time: time, count: 1, updated: now)
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

    /// Closes what has waited long enough.
    public mutating func expire(now: BootInstant) -> [TPV] {
        devices.indices.compactMap { index in
            guard let open = devices[index].open, now.seconds(since: open.updated) >= Self.patience else {
                return nil
            }
            return close(index)
        }
    }

    /// Closes everything: the connection or the tracking ends.
    public mutating func flush() -> [TPV] {
        devices.indices.compactMap { close($0) }
    }

    /// When `expire` has something to do next.
    public var deadline: BootInstant? {
        devices.compactMap { $0.open?.updated.advanced(bySeconds: Self.patience) }.min()
    }

    private mutating func close(_ index: Int) -> TPV? {
        guard let open = devices[index].open else { return nil }
        devices[index].open = nil
        devices[index].closedTime = open.time
        devices[index].counts.append(min(open.count, Self.fullest))
        if devices[index].counts.count > Self.memory { devices[index].counts.removeFirst() }
        return open.tpv
    }

    private mutating func countLate(_ index: Int) {
        guard let last = devices[index].counts.indices.last else { return }
        devices[index].counts[last] = min(devices[index].counts[last] + 1, Self.fullest)
    }

    private mutating func index(of name: String) -> Int {
        if let known = devices.firstIndex(where: { $0.name == name }) { return known }
        if devices.count >= Self.deviceLimit { devices.removeFirst() }
        devices.append(Device(name: name))
        return devices.count - 1
    }
}

extension TPV {
    /// A later report of the same instant fills in or replaces values.
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

    /// The epoch as a fix: nil without a fix, a time, or a position that can be one.
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
