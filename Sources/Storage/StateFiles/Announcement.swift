/// What one broker retains of one vehicle for Home Assistant, whatever becomes of the database, and how to reach that
/// broker.
package struct Announcement: Codable, Equatable, Sendable {
    /// Name of the destination that it was made for.
    package var destination: String
    package var url: String
    /// By which Home Assistant knows the vehicle.
    package var installID: String
    /// Name of the connection: only one with the same ends another that the broker has not missed yet, and its will with it.
    package var clientID: String
    /// Topics that something may be retained of.
    package var topics: [String]
    /// nil: none.
    package var username: String?
    /// nil: none.
    package var password: String?
    /// PEM files; nil: those of the system, and none.
    package var caFile: String?
    /// PEM file; nil: none.
    package var clientCertificate: String?
    /// PEM file; nil: none.
    package var clientKey: String?
    /// nil: none.
    package var proxy: String?
    /// Which version of MQTT may be spoken, as the configuration has it.
    package var version: String
    /// The broker has accepted something of it, with this login; nil: that is not known.
    package var isAccepted: Bool?

    /// Anonymous, without files and proxy.
    package init(
        destination: String, url: String, installID: String, clientID: String, topics: [String],
        version: String
    ) {
        self.destination = destination
        self.url = url
        self.installID = installID
        self.clientID = clientID
        self.topics = topics
        self.version = version
    }

    /// Whether both are about the same topics of the same broker.
    package func isAbout(_ other: Announcement) -> Bool {
        url == other.url && installID == other.installID
    }
}

extension [Announcement]: SmallFileContent {
    package static var fileName: String { SmallFiles.Name.announcements }

    package var isNothing: Bool { isEmpty }
}
