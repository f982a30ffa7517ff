package import Envelope

extension Settings {
    /// How rows become requests, with what that format alone can be told.
    package enum Format: Sendable, Equatable {
        case beekon(Beekon)
        case template(Template)
        case overland(Overland)
        case owntracks(OwnTracks)
        case osmand(OsmAnd)

        /// What `format` says, and what is remembered with a frozen batch.
        package enum Name: String, Sendable, CaseIterable {
            case beekon, template, overland, owntracks, osmand
        }

        package var name: Name {
            switch self {
            case .beekon: .beekon
            case .template: .template
            case .overland: .overland
            case .owntracks: .owntracks
            case .osmand: .osmand
            }
        }

        /// How the server knows this vehicle; nil where the format has no such name, or none was given.
        package var deviceID: String? {
            switch self {
            case .beekon: nil
            case .template(let format): format.deviceID
            case .overland(let format): format.deviceID
            case .owntracks(let format): format.deviceID
            case .osmand(let format): format.deviceID
            }
        }

        /// Which pending rows the next batch holds.
        package var order: Order {
            switch self {
            case .beekon(let format): format.order
            case .template(let format): format.order
            case .overland(let format): format.order
            case .owntracks, .osmand: .oldest
            }
        }
    }

    /// Beekon's own envelope, always gzip.
    package struct Beekon: Sendable, Equatable {
        /// Further root fields, which may be secrets; none takes the name of a field of the envelope.
        package var params = BodyFields()
        package var order = Order.oldest

        package init() {}
    }

    /// A request whose shape the operator decides.
    package struct Template: Sendable, Equatable {
        /// What the tag `device_id` stands for; never nil where a template has it.
        package var deviceID: String?
        package var method = Method.post
        /// What the body looks like, its `params`, which may be secrets, included.
        package var shape: TemplateShape
        /// In place of the usual type of that body; nil: that one. Printable ASCII.
        package var contentType: String?
        /// gzip.
        package var compress = false
        package var order = Order.oldest

        package init(shape: TemplateShape) {
            self.shape = shape
        }
    }

    /// A GeoJSON batch for Overland's servers, never compressed.
    package struct Overland: Sendable, Equatable {
        /// Property `device_id` of each location.
        package var deviceID: String?
        /// Property `unique_id` of each location.
        package var uniqueID = UniqueID.location
        package var order = Order.oldest

        package init() {}
    }

    /// What `unique_id` names, for Overland's servers.
    package enum UniqueID: String, Sendable, CaseIterable {
        /// The location, which `id` names as well.
        case location
        /// This installation, as the app Overland means it.
        case device
    }

    /// OwnTracks JSON, one row a message.
    package struct OwnTracks: Sendable, Equatable {
        /// DEVICE of the topic `owntracks/USER/DEVICE`.
        package var deviceID: String
        /// USER of the topic; nil: `beekon`. With a ``password`` also for the login.
        package var username: Secret?
        /// For HTTP's Basic scheme or for MQTT's login. Never without a ``username``.
        package var password: Secret?
        /// nil: over HTTP.
        package var mqtt: MQTT?
    }

    /// What only a broker can be told.
    package struct MQTT: Sendable, Equatable {
        /// Believe a broker that nobody is subscribed at (PUBACK 16).
        package var acceptUnsubscribed = false
        /// Stay connected while nothing is to be sent.
        package var keepConnection = false
        package var version = MQTTVersion.auto

        package init() {}
    }

    /// Which version of MQTT is spoken, as it is written there.
    package enum MQTTVersion: String, Sendable, CaseIterable {
        /// 5, and 3.1.1 where the broker cannot.
        case auto
        /// Nothing else: in 3.1.1 what an access list denies is acknowledged.
        case five = "5"
        /// Nothing else, from the first connection on.
        case old = "3.1.1"
    }

    /// A query for Traccar's port 5055 and what imitates it, one row a request.
    package struct OsmAnd: Sendable, Equatable {
        /// `id` of the query.
        package var deviceID: String
        package var speedUnit = SpeedUnit.knots
    }

    /// Method of a request, as it is written there.
    package enum Method: String, Sendable, CaseIterable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        /// Without a body: a record is in the query.
        case get = "GET"
    }

    /// Which pending rows a batch holds; within it they ascend in any case.
    package enum Order: String, Sendable, CaseIterable {
        case oldest, newest
    }

    /// Unit of `speed` in a query.
    package enum SpeedUnit: String, Sendable, CaseIterable {
        /// As Traccar reads it, and PhoneTrack at `/log/traccar`.
        case knots
        /// Metres per second, as PhoneTrack reads it at `/log/gpslogger`.
        case mps
    }
}

extension Settings.Sync {
    /// What the broker is told; nil where the url names none.
    package var mqtt: Settings.MQTT? {
        if case .owntracks(let own) = format { own.mqtt } else { nil }
    }
}
