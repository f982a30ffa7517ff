extension Settings {
    /// A backend of the operator's: the values of one destination.
    package struct Sync: Sendable, Equatable {
        /// Absolute URL of scheme http or https, or with ``OwnTracks`` mqtt or mqtts. May carry secrets: see
        /// ``redacted(url:)``.
        package var url = ""
        /// How rows become requests.
        package var format = Format.beekon(Beekon())
        package var deliver = Deliver.all
        package var triggers = Triggers()
        /// Seconds between scheduled drains, at least 60; at least 5 where only the latest location is delivered.
        package var intervalSeconds = 300.0
        /// Seconds between the latest request and a heartbeat, 60…86,400; 0 is off. Only ``Beekon`` and ``OwnTracks`` have
        /// any.
        package var heartbeatSeconds = 0.0
        /// Locations in one request at most, 1…1000; 1 in the formats that have one row a request.
        package var batchSize = 100
        /// Pending locations that start a drain at once; 0 is off.
        package var syncThreshold = 0
        /// Entries into geofences and exits from them are sent, where the format carries any.
        package var geofenceEvents = true
        /// Seconds one request may take in all.
        package var timeoutSeconds = 60.0
        package var onReject = OnReject.drop
        /// Believe a 2xx only if its body is a JSON object with the `batch_id`.
        package var requireAck = false
        /// Dot path of the member of an answer that says whether the batch was taken; nil: what is usual for the format.
        package var acceptMember: String?
        /// What that member must be, one of these; never empty.
        package var acceptValues = ["ok"]
        /// Allow http to a host that is not this one.
        package var allowInsecureHTTP = false
        /// PEM file of the authorities to trust instead of the system's.
        package var caFile: String?
        /// PEM file of the client certificate.
        package var clientCertificate: String?
        /// PEM file of the client certificate's key.
        package var clientKey: String?
        /// Proxy URL; nil means none, whatever the environment says. May carry secrets.
        package var proxy: String?
        /// Headers sent with every upload, sorted by name.
        package var headers: [Field] = []
        /// Bearer tokens; nil without a `[sync.auth]` table.
        package var auth: Auth?
        /// What its answers may ask for; nil: nothing, and they are not looked at.
        package var commands: Commands?

        package init() {}

        /// The host that connections are made to, the proxy's if there is one: a name, or an address in digits. nil when it
        /// cannot be told.
        package var nextHop: String? { WebAddress(proxy ?? url)?.host }

        /// The body of a 2xx must say something for it to be believed.
        package var demandsAcceptance: Bool { requireAck || acceptMember != nil }
    }

    /// What happens to a batch the backend refuses as invalid.
    package enum OnReject: String, Sendable, CaseIterable {
        /// All its rows go to the dead letters.
        case drop
        /// The batch is halved until only the rows at fault are left.
        case isolate
        /// The request is repeated unchanged on the schedule, for servers that answer so to what is not the
        /// rows' fault.
        case keep
    }

    /// A name and its secret value: a header, or a field of a refresh request.
    package struct Field: Sendable, Equatable {
        /// Name as written in the file.
        package var name: String
        /// The value, which is never shown.
        package var value: Secret

        package init(name: String, value: Secret) {
            self.name = name
            self.value = value
        }
    }

    /// The `[sync.auth]` table: tokens the daemon attaches and refreshes by itself.
    package struct Auth: Sendable, Equatable {
        /// Seed of the access token; nil: refresh first.
        package var accessToken: Secret?
        /// Seed of the refresh token.
        package var refreshToken: Secret?
        /// When the seeded access token expires, in seconds since 1970; nil: refresh only when refused.
        package var expiresAt: Int?
        /// A higher number than before makes the daemon adopt the seed again.
        package var seedEpoch = 0
        package var strategy = Strategy.bearer
        /// Where tokens are refreshed; nil: never.
        package var refreshURL: String?
        /// Fields of the refresh request, sorted by name; `{accessToken}` and `{refreshToken}` stand for the tokens.
        package var refreshPayload: [Field] = []
        /// Headers of the refresh request, sorted by name, with the same placeholders.
        package var refreshHeaders = [Field(name: "Authorization", value: Secret("Bearer {accessToken}"))]
        package var refreshBodyFormat = BodyFormat.form
        /// Where the answer keeps its tokens.
        package var responseMapping = ResponseMapping()
        /// Seconds before `expiresAt` at which the token is refreshed.
        package var skewMarginSeconds = 60.0

        package init() {}
    }

    /// How a token is written into `Authorization`.
    package enum Strategy: String, Sendable, CaseIterable {
        /// `Authorization: Bearer <token>`.
        case bearer
        /// `Authorization: <token>`.
        case raw
    }

    /// Encoding of a refresh request.
    package enum BodyFormat: String, Sendable, CaseIterable {
        /// `application/x-www-form-urlencoded`.
        case form
        /// A JSON object.
        case json
    }

    /// Dot paths into the JSON answer of a refresh request; nil: the usual names are tried.
    package struct ResponseMapping: Sendable, Equatable {
        /// Path of the new access token.
        package var accessToken: String?
        /// Path of the new refresh token.
        package var refreshToken: String?
        /// Path of the expiry as a time.
        package var expiresAt: String?
        /// Path of the expiry in seconds from now.
        package var expiresIn: String?

        package init() {}
    }
}

/// A text that must not be shown: it prints as `(set)` wherever it is described, interpolated or dumped.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// What every secret looks like from outside.
    package static let mask = "(set)"
    /// The text itself, for the request it belongs in and nothing else.
    package let text: String

    package init(_ text: String) { self.text = text }

    /// Always ``mask``.
    package var description: String { Self.mask }
    /// Always ``mask``.
    package var debugDescription: String { Self.mask }
    /// Without children, so that `dump` shows nothing either.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
