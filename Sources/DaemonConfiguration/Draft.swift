internal import Envelope

/// The settings while they are put together: like ``Settings``, but with nothing optional in the way.
struct Draft {
    var gpsd = Settings.GPSD()
    var tracking = Settings.Tracking()
    var vehicle = Settings.Vehicle()
    var store = Settings.Store()
    var logLevel = Settings.LogLevel.info
    var units = Settings.Units.metric
    /// `[sync]`, or the table that ``Key/placed(in:)`` has put in its place.
    var main = DestinationDraft()
    private(set) var others: [String: DestinationDraft] = [:]
    var extras: [Settings.Field] = []

    /// One of the tables, by the name of its destination.
    subscript(destination: String) -> DestinationDraft {
        get { destination == Settings.Destination.main ? main : others[destination] ?? DestinationDraft() }
        set {
            if destination == Settings.Destination.main {
                main = newValue
            } else {
                others[destination] = newValue
            }
        }
    }

    var settings: Settings {
        var settings = Settings()
        settings.gpsd = gpsd
        settings.tracking = tracking
        settings.vehicle = vehicle
        settings.store = store
        settings.logLevel = logLevel
        settings.units = units
        settings.extras = Dictionary(extras.map { ($0.name, $0.value.text) }, uniquingKeysWith: { $1 })
        settings.sync = main.settings
        settings.destinations = others.sorted { $0.key < $1.key }.compactMap { name, table in
            table.settings.map {
                .init(name: name, sync: $0, sharesMainTokens: table.auth.sharedWith != nil)
            }
        }
        return settings
    }
}

/// The table of a destination while it is put together.
struct DestinationDraft {
    var sync = Settings.Sync()
    var auth = AuthDraft()
    var format = FormatDraft()
    var commands = CommandsDraft()
    var isMetered = MeteredRoute.allow
    var metered = Settings.Metered()

    /// nil without a url, and where the settings of the format exclude each other, which has been said.
    var settings: Settings.Sync? {
        guard !sync.url.isEmpty,
            let format = format.settings(
                isMQTT: isMQTT, batchSize: sync.batchSize, contentType: contentType)
        else { return nil }
        var sync = sync
        sync.auth = auth.isTable ? auth.values : nil
        sync.format = format
        sync.commands = commands.settings
        switch isMetered {
        case .allow: sync.triggers.metered = nil
        case .avoid: sync.triggers.metered = metered
        }
        return sync
    }

    /// Content type among the headers; nil when they have none.
    private var contentType: String? {
        sync.headers.first { $0.name.lowercased() == Rules.contentType }?.value.text
    }

    /// The url names a broker.
    var isMQTT: Bool { WebAddress(sync.url).map { ["mqtt", "mqtts"].contains($0.scheme) } ?? false }
}

/// The tokens of a destination.
struct AuthDraft {
    var values = Settings.Auth()
    /// Whether there is a table `auth` of its own.
    var isTable = false
    /// The destination whose tokens it uses; nil: its own, if it has any.
    var sharedWith: String?
}

/// What the server may ask for. The names are known to be some.
struct CommandsDraft {
    var isEnabled = false
    var allow: [String] = []
    var named: [String] = []
    var max = 16
    var keyFiles: [String] = []
    /// What is in the files.
    var keys: [Settings.VerifyKey] = []

    /// nil when nothing is obeyed.
    var settings: Settings.Commands? {
        guard isEnabled else { return nil }
        var commands = Settings.Commands()
        commands.allow = Set(allow.compactMap { Settings.Commands.Name(rawValue: $0) })
        commands.settings = named
        commands.max = max
        commands.verifyKeys = keys
        return commands
    }
}

/// What `metered` says.
enum MeteredRoute: String, Sendable, CaseIterable {
    case allow, avoid
}

/// The format of a destination, with what any of them can be told.
struct FormatDraft {
    var name = Settings.Format.Name.beekon
    var deviceID: String?
    var params: [String: BodyFields.Value] = [:]
    var platform = Settings.Beekon.usualPlatform
    var order = Settings.Order.oldest
    var template = TemplateDraft()
    var owntracks = Settings.OwnTracks(deviceID: "")
    var mqtt = Settings.MQTT()
    var speedUnit = Settings.SpeedUnit.knots
    var uniqueID = Settings.UniqueID.location

    /// A request holds one row whatever is configured.
    var isOneRow: Bool { name.traits.isOneRow || name == .template && template.isForm }

    /// - Parameters:
    ///   - isMQTT: what the url says of the transport.
    ///   - contentType: of the headers; nil: they have none.
    /// - Returns: nil where the settings exclude each other.
    func settings(isMQTT: Bool, batchSize: Int, contentType: String?) -> Settings.Format? {
        switch name {
        case .beekon:
            guard let params = try? BodyFields(params) else { return nil }
            var format = Settings.Beekon()
            (format.params, format.order, format.platform) = (params, order, platform)
            return .beekon(format)
        case .template:
            guard let params = try? BodyFields(params),
                let shape = try? template.shape(params: params, batchSize: batchSize)
            else { return nil }
            var format = Settings.Template(shape: shape)
            (format.method, format.compress) = (template.method, template.compress)
            (format.deviceID, format.order) = (deviceID, order)
            format.contentType = contentType
            return .template(format)
        case .overland:
            var format = Settings.Overland()
            (format.deviceID, format.order, format.uniqueID) = (deviceID, order, uniqueID)
            return .overland(format)
        case .owntracks:
            var format = owntracks
            (format.deviceID, format.mqtt) = (deviceID ?? "", isMQTT ? mqtt : nil)
            return .owntracks(format)
        case .osmand: return .osmand(.init(deviceID: deviceID ?? "", speedUnit: speedUnit))
        }
    }
}

/// What the format `template` alone can be told. The templates are known to be some.
struct TemplateDraft {
    var method = Settings.Method.post
    var body = TemplateBody.json
    var rootProperty = "location"
    var extrasIn = TemplateShape.ExtrasPlace.record
    /// The template of a location, as written; nil: the guide's own record.
    var location: String?
    /// The template of a geofence event, as written; nil: the guide's own record.
    var geofence: String?
    var compress = false

    /// The record is in the query.
    var isQuery: Bool { method == .get }
    /// A record becomes parameters.
    var isForm: Bool { isQuery || body == .form }

    /// - Throws: a `TemplateShape.Invalid` that names the settings which exclude each other, or the template that is none.
    func shape(params: BodyFields, batchSize: Int) throws(TemplateShape.Invalid) -> TemplateShape {
        let body = isQuery ? .form : body
        guard let location = try template(location, .location, "location_template", body) else {
            throw TemplateShape.Invalid(
                key: isQuery ? "method" : "body",
                reason:
                    "\(Self.words(body, isQuery: isQuery)) location_template: the usual record is JSON with objects in it"
            )
        }
        return try TemplateShape(
            rootProperty: rootProperty, params: params, extras: extrasIn, batchSize: batchSize,
            isQuery: isQuery,
            location: location, geofence: template(geofence, .geofence, "geofence_template", body))
    }

    private static func words(_ body: TemplateBody, isQuery: Bool) -> String {
        isQuery ? "a query needs" : body == .form ? "a form needs" : "lines need"
    }

    private func template(
        _ text: String?, _ kind: Template.Kind, _ key: String, _ body: TemplateBody
    ) throws(TemplateShape.Invalid) -> Template? {
        guard let text = text ?? (body == .json ? kind.guideText : nil) else { return nil }
        if let complaint = Rules.complaint(about: text, kind, body) {
            throw TemplateShape.Invalid(key: key, reason: complaint)
        }
        return try? Template(text, for: kind, as: body)
    }
}
