package import Base
package import DaemonConfiguration
package import Envelope
package import Tracking

/// Makes the requests of one destination, in the format that it is configured with.
package struct RequestMaker: ~Copyable {
    /// Formats that need no buffers.
    private enum Plain {
        case overland(OverlandFormat)
        case owntracks(OwnTracksFormat)
        case osmand(OsmAndFormat)
    }

    /// nil unless it is the format.
    private var beekon: BeekonFormat?
    /// nil unless it is the format.
    private var template: TemplateFormat?
    private var plain: Plain?
    // Never changed; but Swift 6.2 lets an initializer that calls a mutating function have no constants.
    private var installID: String?
    private var model: String?
    private var version: String

    /// - Parameters:
    ///   - installID: of this installation; nil before there is one, for an empty batch alone.
    ///   - model: the maker's name for the machine; nil when it does not say.
    ///   - version: of beekond.
    ///   - sync: nil while there is nowhere to upload to.
    package init(installID: String?, model: String?, version: String, _ sync: Settings.Sync?) {
        self.installID = installID
        self.model = model
        self.version = version
        configure(sync)
    }

    /// Other settings, for the requests from now on.
    package mutating func configure(_ sync: Settings.Sync?) {
        plain = nil
        template = nil
        beekon = nil
        let id = installID ?? ""
        switch sync?.format ?? .beekon(Settings.Beekon()) {
        case .beekon(let own):
            beekon = BeekonFormat(
                device: Device(installID: installID, platform: own.platform, version: version, model: model),
                params: own.params)
        case .template(let own): template = TemplateFormat(own, installID: id)
        case .overland(let own): plain = .overland(OverlandFormat(own, installID: id))
        case .owntracks(let own): plain = .owntracks(OwnTracksFormat(own))
        case .osmand(let own): plain = .osmand(OsmAndFormat(own))
        }
    }

    /// Where locations are published; nil for formats that only HTTP carries.
    package var topic: String? { if case .owntracks(let format) = plain { format.topic } else { nil } }

    /// An event must have a position, which earlier versions did not store.
    package var needsPlaces: Bool { if case .owntracks = plain { true } else { false } }

    /// How many locations a request may hold, and as many events.
    ///
    /// - Parameters:
    ///   - wanted: as configured.
    ///   - extras: those of the rows.
    package func rowLimit(_ wanted: Int, extras: String?) -> Int {
        min(wanted, template?.rowLimit(extras: extras) ?? wanted)
    }

    /// Gives back the buffers.
    package mutating func reset() {
        beekon?.reset()
        template?.reset()
    }

    /// Rows become a request.
    ///
    /// - Parameters:
    ///   - extras: a JSON object, as it was stored; nil when there are none.
    ///   - locations: in formats that send one row a request, with the events exactly one.
    ///   - tellsOdometer: to servers made for other clients, which have a field for it.
    /// - Returns: nil when zlib fails, and for rows that the format has no place for.
    package mutating func request(
        batch: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?, locations: [Location],
        events: [GeofenceEvent] = [], vehicleEvents: [VehicleEvent] = [], tellsOdometer: Bool = true
    ) -> Request? {
        guard template == nil else {
            return template?.request(session: session, extras: extras, locations: locations, events: events)
        }
        var first = locations.first
        if !tellsOdometer { first?.mileage = nil }
        return switch plain {
        case nil:
            beekon?.request(
                batch: batch, session: session, sentAt: sentAt, extras: extras, locations: locations,
                events: events, vehicleEvents: vehicleEvents)
        case .overland(let format): format.request(locations)
        case .owntracks(let format):
            first.map { format.request($0, sentAt: sentAt) } ?? events.first.flatMap { format.request($0) }
        case .osmand(let format): first.map { format.request($0, extras: extras) }
        }
    }

    /// A request without rows, which says that the vehicle lives.
    package enum Rowless {
        /// For the format `beekon`: an envelope without rows.
        case envelope(VehicleStatus, results: [String], session: UUIDv7, extras: String?)
        /// For `owntracks`: where it was last.
        case position(Location)
    }

    /// - Returns: nil when zlib fails, and for a format that has no such request.
    package mutating func request(for content: Rowless, id: UUIDv7, sentAt: Timestamp) -> Request? {
        switch (content, plain) {
        case (.envelope(let status, let results, let session, let extras), nil):
            beekon?.envelope(
                id, session: session, sentAt: sentAt, extras: extras, status: status, results: results)
        case (.position(let location), .owntracks(let format)):
            format.request(location, sentAt: sentAt, isPing: true)
        case (.envelope, _), (.position, _): nil
        }
    }
}
