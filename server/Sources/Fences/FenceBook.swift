internal import Envelope
package import ServerStore
internal import Tracking

/// All fences of the fleet, and who is to have which: as they were at one revision of the fleet.
package struct FenceBook: Sendable {
    /// Fences that one vehicle can have; of more it gets those that were drawn first.
    package static let mostOfVehicle = 1000

    /// A fence as a vehicle is told of it.
    package struct Entry: Equatable, Sendable {
        package var number: Int64
        /// The id of the fence in the vehicle.
        package var name: String
        /// What the vehicle makes of it; see `Geofence.fingerprint`.
        package var fingerprint: UInt64
        /// The element of `add_geofences`.
        var object: String
    }

    /// `FleetRevision` when it was read.
    package let revision: Int64
    /// Whether there is anything to do for anybody: a fence, or a vehicle that has been told of one.
    package let isUsed: Bool
    private let entries: [Entry]
    /// Places in `entries`, ascending.
    private let ofAll: [Int]
    private let ofGroups: [Int64: [Int]]
    private let ofDevices: [Int64: [Int]]

    package static let empty = FenceBook(revision: -1, isUsed: false, fences: [])

    /// - Parameter fences: by number.
    init(revision: Int64, isUsed: Bool, fences: [FenceEntry]) {
        var entries: [Entry] = []
        var ofAll: [Int] = []
        var (ofGroups, ofDevices): ([Int64: [Int]], [Int64: [Int]]) = ([:], [:])
        for fence in fences {
            // One that is damaged in the database is nobody's.
            guard let geofence = try? fence.shape.geofence(fence.name) else { continue }
            let place = entries.count
            entries.append(
                Entry(
                    number: fence.number, name: fence.name, fingerprint: geofence.fingerprint,
                    object: #"{"id":\#(Self.quoted(fence.name)),\#(fence.shape.members)}"#))
            if fence.targets.isEverybody { ofAll.append(place) }
            for group in fence.targets.groups.keys { ofGroups[group, default: []].append(place) }
            for device in fence.targets.devices { ofDevices[device, default: []].append(place) }
        }
        self.revision = revision
        self.isUsed = isUsed || !entries.isEmpty
        self.entries = entries
        self.ofAll = ofAll
        self.ofGroups = ofGroups
        self.ofDevices = ofDevices
    }

    /// - Returns: nil when nothing has changed since `former` was read.
    package static func read(
        after former: FenceBook, in session: any Session
    ) throws(StoreError) -> FenceBook? {
        let revision = try FleetRevision.read(from: session)
        guard revision != former.revision else { return nil }
        let told = try session.run("SELECT device FROM device_fences WHERE digest <> 0 LIMIT 1")
        return FenceBook(
            revision: revision, isUsed: !told.isEmpty, fences: try Fences.all(for: .everything, in: session))
    }

    /// A text as JSON has it.
    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONString.append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether there are fences for this vehicle alone, beside those of its group and of all.
    func hasOwn(_ device: Int64) -> Bool { ofDevices[device] != nil }

    /// The fences that a vehicle is to have, by number.
    package func entries(of device: Int64, in group: Int64?) -> [Entry] {
        let places = Set(ofAll + (group.flatMap { ofGroups[$0] } ?? []) + (ofDevices[device] ?? []))
        return places.sorted().prefix(Self.mostOfVehicle).map { entries[$0] }
    }
}
