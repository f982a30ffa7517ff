// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A command of a server. origin: the destination whose server sent it. batch: the id of the request
    /// whose answer it came with. state: received (it has yet to be run) or done. Once it is done, ok says
    /// whether it was carried out, and error why not. result: what it found out, if anything. delivered: the
    /// server has the result.
    package struct ServerCommand: Codable, Sendable, Equatable {
        package var id: String
        package var command: String
        package var origin: String
        package var batch: String
        package var state: String
        package var receivedAt: String
        package var doneAt: String?
        package var ok: Bool?
        package var error: String?
        package var result: JSONValue?
        package var delivered: Bool?

        package init(
            id: String, command: String, origin: String, batch: String, state: String, receivedAt: String,
            doneAt: String? = nil, ok: Bool? = nil, error: String? = nil, result: JSONValue? = nil,
            delivered: Bool? = nil
        ) {
            self.id = id
            self.command = command
            self.origin = origin
            self.batch = batch
            self.state = state
            self.receivedAt = receivedAt
            self.doneAt = doneAt
            self.ok = ok
            self.error = error
            self.result = result
            self.delivered = delivered
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case command
            case origin
            case batch
            case state
            case receivedAt = "received_at"
            case doneAt = "done_at"
            case ok
            case error
            case result
            case delivered
        }
    }
}
