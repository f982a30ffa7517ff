// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// One setting. origin is default, file and line, server (a command of the server has set it), or runtime
    /// (Configure has). overrides_server: the server has set it as well, and has to wait until ResetConfig
    /// takes this value back.
    package struct Setting: Codable, Sendable, Equatable {
        package var key: String
        package var value: JSONValue
        package var origin: String
        package var overridesServer: Bool?

        package init(key: String, value: JSONValue, origin: String, overridesServer: Bool? = nil) {
            self.key = key
            self.value = value
            self.origin = origin
            self.overridesServer = overridesServer
        }

        private enum CodingKeys: String, CodingKey {
            case key
            case value
            case origin
            case overridesServer = "overrides_server"
        }
    }
}
