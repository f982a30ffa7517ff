/// What texts call a destination, its settings, and the commands that concern it.
package struct DestinationNames {
    /// What `[sync]` is called.
    package static let main = "main"

    /// Safe for a terminal, 32 columns at most.
    let name: String
    private let isMain: Bool

    /// - Parameter name: nil is `main`.
    package init(_ name: String?) {
        isMain = (name ?? Self.main) == Self.main
        self.name = Text.cut(Text.safe(name ?? Self.main), to: 32)
    }

    /// Table of the destination in the configuration: `sync`, or `destination.NAME`.
    package var table: String { isMain ? "sync" : "destination." + name }
    /// `the server`, or whose it is.
    var server: String { isMain ? "the server" : "the server of " + name }
    /// `The server`, or whose it is.
    var capitalisedServer: String { isMain ? "The server" : "The server of " + name }
    /// `the broker`, or whose it is.
    var broker: String { isMain ? "the broker" : "the broker of " + name }
    /// `The broker`, or whose it is.
    var capitalisedBroker: String { isMain ? "The broker" : "The broker of " + name }
    /// `The upload`, or where to.
    var upload: String { isMain ? "The upload" : "The upload to " + name }
    /// `The next batch`, or whose it is.
    var nextBatch: String { isMain ? "The next batch" : "The next batch for " + name }
    /// The command that uploads now.
    var sync: String { isMain ? "beekonctl sync" : "beekonctl sync " + name }
    /// What proves to the server who we are.
    ///
    /// - Parameter format: of the destination; nil: not known.
    func credentials(format: String?) -> String {
        let own = "[\(table).headers] or [\(table).auth]"
        return format == "owntracks" ? own + ", or \(table).username and password" : own
    }

    /// Completes any other command, such as `beekonctl rejected list`.
    package var option: String { isMain ? "" : " --destination " + name }
}
