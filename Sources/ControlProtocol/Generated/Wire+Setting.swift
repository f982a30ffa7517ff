// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// One setting. origin is file and line, default, or runtime.
    package struct Setting: Codable, Sendable, Equatable {
        package var key: String
        package var value: JSONValue
        package var origin: String

        package init(key: String, value: JSONValue, origin: String) {
            self.key = key
            self.value = value
            self.origin = origin
        }
    }
}
