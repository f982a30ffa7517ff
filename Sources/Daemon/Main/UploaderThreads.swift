internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Upload

/// The threads of the uploaders: one for each destination, for as long as it is configured; that of `main` always.
///
/// Confined to the main thread.
final class UploaderThreads {
    private let hub: Hub
    private let directory: StateDirectory
    private let installID: String
    /// Told to end, but still running.
    private var ending: Set<DestinationName> = []

    init(hub: Hub, directory: StateDirectory, installID: String) {
        self.hub = hub
        self.directory = directory
        self.installID = installID
    }

    /// The name of the thread for the journal and the kernel.
    static func name(of destination: DestinationName) -> String {
        destination == .main ? "uploader" : "uploader " + destination.text
    }

    /// Begins to upload to the port's destination.
    func start(_ port: UploaderPort, _ inForce: SettingsInForce) throws(SystemError) {
        let (hub, installID) = (hub, installID)
        let tokens = TokenStore(
            directory: directory,
            credentials: SecretPlaces.ofThisProcess().credentialsDirectory, destination: port.name)
        try startThread(named: Self.name(of: port.name)) {
            guard
                let uploader = Uploader(
                    port: port, hub: hub, inForce: inForce, installID: installID, tokens: tokens,
                    now: .current())
            else { return hub.post(.uploaderEnded(port.name)) }
            uploader.run(hub.clock, watchedBy: port.work)
        }
    }

    /// Starts the threads that these settings ask for in addition, and tells those to end that they no longer ask for.
    ///
    /// - Returns: those that have been started.
    func follow(_ inForce: SettingsInForce) throws(SystemError) -> [DestinationName] {
        let wanted = Set(inForce.settings.destinations.compactMap { DestinationName($0.name) })
        for port in hub.uploaders.all where port.name != .main && !wanted.contains(port.name) {
            if ending.insert(port.name).inserted { port.deliver(.end) }
        }
        var started: [DestinationName] = []
        for name in wanted.sorted() where hub.uploaders[name] == nil {
            let port = try UploaderPort(name)
            hub.uploaders.add(port)
            do {
                try start(port, inForce)
            } catch {
                hub.uploaders.remove(name)
                throw error
            }
            started.append(name)
        }
        return started
    }

    /// Destinations whose uploaders do not go by these settings: they have not taken them up, have not begun, or are to end and
    /// have not.
    func late(for inForce: SettingsInForce) -> [DestinationName] {
        let wanted = Set(inForce.settings.destinations.compactMap { DestinationName($0.name) })
        let others = wanted.union(hub.uploaders.all.map(\.name)).subtracting([.main])
        return ([.main] + others.sorted()).filter { name in
            guard name == .main || wanted.contains(name), !ending.contains(name) else { return true }
            return hub.uploaders[name]?.snapshot.revision.map { $0 < inForce.revision } ?? true
        }
    }

    /// The thread of this destination has ended.
    ///
    /// - Returns: whether it was told to.
    func ended(_ name: DestinationName) -> Bool {
        guard ending.remove(name) != nil else { return false }
        hub.uploaders.remove(name)
        return true
    }
}
