package import Base
package import DaemonConfiguration

/// Where publications go, as whom, and how.
package struct MQTTOptions: Equatable, Sendable {
    /// `mqtt://` or `mqtts://` with a host; the ports are 1883 and 8883 unless it has one. A path means nothing.
    package var url: String
    /// Names the client to the broker, which ends the connection of another one with the same.
    package var clientID: String
    /// nil for none.
    package var username: String?
    /// nil for none.
    package var password: String?
    /// What the broker publishes when the connection breaks; nil for nothing. A connection keeps the one it began with.
    package var will: MQTTMessage?
    /// The will is published also when the connection ends in an orderly way.
    package var leavesWithWill = false
    /// A topic that is listened to for as long as the connection lasts; nil for none.
    package var heededTopic: String?
    /// Which versions of MQTT may be spoken.
    package var version = Settings.MQTTVersion.auto
    /// Seconds for one publication, the connection included.
    package var timeout: Double
    /// PEM, instead of the system's authorities; nil for those.
    package var caFile: String?
    /// PEM, for mutual TLS; nil for none.
    package var clientCertificate: String?
    /// PEM, the key of the client certificate.
    package var clientKey: String?
    /// nil for none: the environment is never asked.
    package var proxy: String?

    /// Anonymous, without files and proxy: the system's authorities, a direct connection.
    package init(
        url: String, clientID: String, username: String? = nil, password: String? = nil,
        will: MQTTMessage? = nil, timeout: Double, caFile: String? = nil, clientCertificate: String? = nil,
        clientKey: String? = nil, proxy: String? = nil
    ) {
        self.url = url
        self.clientID = clientID
        self.username = username
        self.password = password
        self.will = will
        self.timeout = timeout
        self.caFile = caFile
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.proxy = proxy
    }

    /// The options of a destination.
    ///
    /// - Parameter time: of the connection, by the best clock known, for the last will.
    /// - Returns: nil when its url names no broker.
    package init?(_ sync: Settings.Sync, clientID: String, connectedAt time: Timestamp) {
        guard case .owntracks(let own) = sync.format, let mqtt = own.mqtt else { return nil }
        let topic = OwnTracksFormat(own).topic
        self.init(
            url: sync.url, clientID: clientID,
            // A name alone is for the topic: without a password there is no login.
            username: own.password == nil ? nil : own.username?.text, password: own.password?.text,
            will: OwnTracksMQTT.will(topic: topic, at: time), timeout: sync.timeoutSeconds,
            caFile: sync.caFile, clientCertificate: sync.clientCertificate, clientKey: sync.clientKey,
            proxy: sync.proxy)
        version = mqtt.version
    }

    /// Messages are encrypted on their way.
    var isTLS: Bool { url.lowercased().hasPrefix("mqtts:") }

    /// Whether a connection that was made with these serves the others as well.
    func connectsLike(_ others: MQTTOptions) -> Bool {
        var (mine, theirs) = (self, others)
        // A will tells when it was written.
        mine.will?.payload = []
        theirs.will?.payload = []
        (mine.timeout, theirs.timeout) = (0, 0)
        return mine == theirs
    }

    /// The URL with which libcurl makes the connection: the scheme says no more than whether there is TLS.
    ///
    /// - Returns: nil when it is none of mqtt.
    var transportURL: String? {
        guard let colon = url.firstRange(of: "://") else { return nil }
        let isTLS: Bool
        switch url[..<colon.lowerBound].lowercased() {
        case "mqtts": isTLS = true
        case "mqtt": isTLS = false
        default: return nil
        }
        let authority = url[colon.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        guard !place.isEmpty else { return nil }
        let hasPort = place.reversed().prefix { $0 != "]" }.contains(":")
        return (isTLS ? "https://" : "http://") + place + (hasPort ? "" : isTLS ? ":8883" : ":1883") + "/"
    }
}

/// One message to publish.
package struct MQTTPublication: Equatable, Sendable {
    /// Published at QoS 1.
    package var message: MQTTMessage
    /// Subscribe to the topic first, and wait for the message to come back. For a test of the destination: what the broker
    /// retains or forwards meanwhile is not confused with it.
    package var expectsEcho: Bool
    /// Nothing is published: the outcome is what the broker says to the connection. For a test of the way and the login.
    package var connectsOnly = false

    package init(_ message: MQTTMessage, expectsEcho: Bool = false) {
        self.message = message
        self.expectsEcho = expectsEcho
    }

    /// See `connectsOnly`.
    package static var nothing: MQTTPublication {
        var publication = MQTTPublication(MQTTMessage(topic: "", payload: []))
        publication.connectsOnly = true
        return publication
    }
}
