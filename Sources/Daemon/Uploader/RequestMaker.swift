internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Tracking
internal import Upload

/// Makes the requests of one destination, in the format that it is configured with.
struct RequestMaker: ~Copyable {
    /// Formats of other people's servers need no buffers.
    enum Foreign {
        case overland(OverlandFormat)
        case owntracks(OwnTracksFormat)
        case osmand(OsmAndFormat)
    }

    /// nil unless it is the format.
    private var beekon: BeekonFormat?
    /// nil unless it is the format.
    private var template: TemplateFormat?
    private var foreign: Foreign?
    // Never changed; but Swift 6.2 lets an initializer that calls a mutating function have no constants.
    private var installID: String
    private var model: String?

    init(installID: String, _ sync: Settings.Sync?) {
        self.installID = installID
        model = Machine.model()
        configure(sync)
    }

    /// Other settings, for the requests from now on.
    mutating func configure(_ sync: Settings.Sync?) {
        foreign = sync.flatMap { Foreign($0.format, installID: installID) }
        template = nil
        beekon = nil
        if case .template(let own) = sync?.format { template = TemplateFormat(own, installID: installID) }
        guard foreign == nil, template == nil else { return }
        var params = BodyFields()
        if case .beekon(let own) = sync?.format { params = own.params }
        beekon = BeekonFormat(device: Device(installID: installID, sync, model: model), params: params)
    }

    /// Where locations are published; nil for formats that only HTTP carries.
    var topic: String? { if case .owntracks(let format) = foreign { format.topic } else { nil } }

    /// How many locations a request may hold, and as many events.
    ///
    /// - Parameters:
    ///   - wanted: as configured.
    ///   - extras: those of the rows.
    func rowLimit(_ wanted: Int, extras: String?) -> Int {
        min(wanted, template?.rowLimit(extras: extras) ?? wanted)
    }

    /// Gives back the buffers.
    mutating func reset() {
        beekon?.reset()
        template?.reset()
    }

    /// Whether the format can say what is in the draft: an event that was stored without its position, by an earlier version,
    /// is placed at the centre of its fence, but that may be gone.
    ///
    /// - Parameter fences: those that there are now.
    /// - Returns: the draft with that position; nil when it can not.
    func placed(_ draft: BatchDraft, among fences: () throws(StorageError) -> [Geofence]) throws(StorageError)
        -> BatchDraft?
    {
        guard case .owntracks = foreign, draft.locations.isEmpty, let event = draft.events.first,
            event.coordinate == nil
        else { return draft }
        let id = event.crossing.geofence
        return try fences().first { $0.id == id }.map { draft.placed(at: $0.centre) }
    }

    /// - Parameter tellsOdometer: to servers made for other clients, which have a field for it.
    /// - Returns: nil when zlib fails.
    mutating func request(
        for draft: BatchDraft, batch: UUIDv7, sentAt: Timestamp, tellsOdometer: Bool = true
    ) -> Request? {
        guard template == nil else {
            return template?.request(
                session: draft.session, extras: draft.extras, locations: draft.locations, events: draft.events
            )
        }
        var first = draft.locations.first
        if !tellsOdometer { first?.mileage = nil }
        return switch foreign {
        case nil:
            beekon?.request(
                batch: batch, session: draft.session, sentAt: sentAt, extras: draft.extras,
                locations: draft.locations, events: draft.events, vehicleEvents: draft.vehicleEvents)
        case .overland(let format): format.request(draft.locations)
        case .owntracks(let format):
            first.map { format.request($0, sentAt: sentAt) }
                ?? draft.events.first.flatMap { format.request($0) }
        case .osmand(let format):
            first.map { format.request($0, extras: draft.extras) }
        }
    }
}

extension RequestMaker {
    /// A request without rows, which says that the vehicle lives.
    enum Rowless {
        /// For the format `beekon`: an envelope without rows.
        case envelope(VehicleStatus, results: [String], session: UUIDv7, extras: String?)
        /// For `owntracks`: where it was last.
        case position(Location)
    }

    /// - Returns: nil when zlib fails, and for a format that has no such request.
    mutating func request(for content: Rowless, id: UUIDv7, sentAt: Timestamp) -> Request? {
        switch (content, foreign) {
        case (.envelope(let status, let results, let session, let extras), nil):
            beekon?.envelope(
                id, session: session, sentAt: sentAt, extras: extras, status: status, results: results)
        case (.position(let location), .owntracks(let format)):
            format.request(location, sentAt: sentAt, isPing: true)
        case (.envelope, _), (.position, _): nil
        }
    }
}

extension RequestMaker.Foreign {
    fileprivate init?(_ format: Settings.Format, installID: String) {
        switch format {
        case .beekon, .template: return nil
        case .overland(let own): self = .overland(OverlandFormat(own, installID: installID))
        case .owntracks(let own):
            self = .owntracks(OwnTracksFormat(user: own.username?.text, deviceID: own.deviceID))
        case .osmand(let own):
            self = .osmand(
                OsmAndFormat(deviceID: own.deviceID, speedUnit: own.speedUnit == .knots ? .knots : .mps))
        }
    }
}

extension Request {
    /// The request of a frozen batch; nil when it cannot be read back: the file is damaged, or a later version wrote it.
    init?(_ stored: StoredRequest) {
        guard let name = stored.format else {
            self = BeekonFormat.request(body: stored.body)
            return
        }
        self.init(format: name, head: stored.head, body: stored.body)
    }

    /// As it is kept with its batch: nothing but the body of the usual batch.
    var stored: StoredRequest {
        StoredRequest(format: head == nil ? nil : format.rawValue, head: head, body: body)
    }
}

extension Settings.Format {
    /// Geofence events are part of it.
    var carriesEvents: Bool { hasPlace(name.traits.geofenceEvents) { $0.geofence != nil } }

    /// So are events of other kinds.
    var carriesVehicleEvents: Bool { hasPlace(name.traits.vehicleEvents) { _ in false } }

    /// The battery is part of what is said of a location.
    var carriesBattery: Bool {
        hasPlace(name.traits.battery) { !$0.tags.isDisjoint(with: [.batteryLevel, .batteryIsCharging]) }
    }

    private func hasPlace(_ place: FormatTraits.Place, in shape: (TemplateShape) -> Bool) -> Bool {
        switch (place, self) {
        case (.always, _): true
        case (.shaped, .template(let own)): shape(own.shape)
        case (.shaped, _), (.never, _): false
        }
    }

    /// What else decides the bytes of a batch, as a text; empty for `beekon` as it usually is. What is not set adds nothing:
    /// else an upgrade would look like another setting.
    var identity: String {
        switch self {
        case .beekon(let own): own.params.isEmpty ? "" : " beekon \(own.params.text)"
        case .template(let own):
            " template \(own.method.rawValue) \(own.compress) \(own.shape.identity)"
                + (own.contentType.map { " \($0)" } ?? "")
        case .overland(let own): " overland" + (own.uniqueID == .device ? " device" : "")
        case .owntracks(let own): " owntracks" + (own.username.map { " \($0.text)" } ?? "")
        case .osmand(let own): " osmand \(own.speedUnit.rawValue)"
        }
    }

    /// Differs whenever batches that are frozen would have to be made anew; 0 for `beekon`.
    var fingerprint: Int64 {
        if case .beekon = self { return 0 }
        return "\(name.rawValue) \(deviceID ?? "")".fingerprint
    }
}

extension String {
    /// FNV-1a, which is the same in every run.
    var fingerprint: Int64 {
        let hash = utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}
