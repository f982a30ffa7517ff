extension Settings {
    /// The operator's backend.
    public struct Sync: Sendable, Equatable {
        /// Absolute http or https URL that batches are posted to. May carry secrets: see ``redacted(url:)``.
        public var url = ""
        /// Seconds between scheduled drains, at least 60.
        public var intervalSeconds = 300.0
        /// Locations in one request at most, 1…1000.
        public var batchSize = 100
        /// Pending locations that start a drain at once; 0 is off.
        public var syncThreshold = 0
        /// Seconds one request may take in all.
        public var timeoutSeconds = 60.0
        /// What happens to a batch the backend refuses as invalid.
        public var onReject = OnReject.drop
        /// Believe a 2xx only if its body is a JSON object with the `batch_id`.
        public var requireAck = false
        /// Allow http to a host that is not this one.
        public var allowInsecureHTTP = false
        /// PEM file of the authorities to trust instead of the system's.
        public var caFile: String?
        /// PEM file of the client certificate.
        public var clientCertificate: String?
        /// PEM file of the client certificate's key.
        public var clientKey: String?
        /// Proxy URL; nil means none, whatever the environment says. May carry secrets.
        public var proxy: String?
        /// What `device.platform` says in the upload.
        public var platform = "linux"
        /// Headers sent with every upload, sorted by name.
        public var headers: [Field] = []
        /// Bearer tokens; nil without a `[sync.auth]` table.
        public var auth: Auth?

        /// The defaults, with no URL yet.
        public init() {}
    }

    /// What happens to a batch the backend refuses as invalid.
    public enum OnReject: String, Sendable, CaseIterable {
        /// All its rows go to the dead letters.
        case drop
        /// It is halved until only the rows at fault are left.
        case isolate
    }

    /// A name and its secret value: a header, or a field of a refresh request.
    public struct Field: Sendable, Equatable {
        /// Name as written in the file.
        public var name: String
        /// Its value, which is never shown.
        public var value: Secret

        /// Makes a field.
        public init(name: String, value: Secret) {
            self.name = name
            self.value = value
        }
    }

    /// The `[sync.auth]` table: tokens the daemon attaches and refreshes by itself.
    public struct Auth: Sendable, Equatable {
        /// Seed of the access token; nil: refresh first.
        public var accessToken: Secret?
        /// Seed of the refresh token.
        public var refreshToken: Secret?
        /// When the seeded access token expires, in seconds since 1970; nil: refresh only when refused.
        public var expiresAt: Int?
        /// A higher number than before makes the daemon adopt the seed again.
        public var seedEpoch = 0
        /// How the token is written into `Authorization`.
        public var strategy = Strategy.bearer
        /// Where tokens are refreshed; nil: never.
        public var refreshURL: String?
        /// Fields of the refresh request, sorted by name; `{accessToken}` and `{refreshToken}` stand for the tokens.
        public var refreshPayload: [Field] = []
        /// Headers of the refresh request, sorted by name, with the same placeholders.
        public var refreshHeaders = [Field(name: "Authorization", value: Secret("Bearer {accessToken}"))]
        /// How the fields are encoded.
        public var refreshBodyFormat = BodyFormat.form
        /// Where the answer keeps its tokens.
        public var responseMapping = ResponseMapping()
        /// Seconds before `expiresAt` at which the token is refreshed.
        public var skewMarginSeconds = 60.0

        /// The defaults, without tokens.
        public init() {}
    }

    /// How a token is written into `Authorization`.
    public enum Strategy: String, Sendable, CaseIterable {
        /// `Authorization: Bearer <token>`.
        case bearer
        /// `Authorization: <token>`.
        case raw
    }

    /// Encoding of a refresh request.
    public enum BodyFormat: String, Sendable, CaseIterable {
        /// `application/x-www-form-urlencoded`.
        case form
        /// A JSON object.
        case json
    }

    /// Dot paths into the JSON answer of a refresh request; nil: the usual names are tried.
    public struct ResponseMapping: Sendable, Equatable {
        /// Path of the new access token.
        public var accessToken: String?
        /// Path of the new refresh token.
        public var refreshToken: String?
        /// Path of the expiry as a time.
        public var expiresAt: String?
        /// Path of the expiry in seconds from now.
        public var expiresIn: String?

        /// No paths.
        public init() {}
    }
}

/// A text that must not be shown: it prints as `(set)` wherever it is described, interpolated or dumped.
public struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// What every secret looks like from outside.
    public static let mask = "(set)"
    /// The text itself, for the request it belongs in and nothing else.
    public let text: String

    /// Wraps a text.
    public init(_ text: String) { self.text = text }

    /// Always ``mask``.
    public var description: String { Self.mask }
    /// Always ``mask``.
    public var debugDescription: String { Self.mask }
    /// Without children, so that `dump` shows nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
