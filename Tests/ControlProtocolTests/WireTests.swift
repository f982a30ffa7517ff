import ControlProtocol
import FoundationEssentials
import Testing

@Suite("the types of the interface")
struct WireTests {
    private func roundTrip<T: Codable & Equatable>(_ value: T) throws {
        let data = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(T.self, from: data) == value)
    }

    private func keys(_ value: some Encodable) throws -> Set<String> {
        let data = try JSONEncoder().encode(value)
        return Set(try JSONDecoder().decode([String: JSONValue].self, from: data).keys)
    }

    @Test("every type survives a round trip")
    func roundTrips() throws {
        try roundTrip(Samples.location)
        try roundTrip(Samples.bareLocation)
        try roundTrip(Samples.geofence)
        try roundTrip(Samples.geofenceEvent)
        try roundTrip(Samples.session)
        try roundTrip(Samples.place)
        try roundTrip(Samples.trip)
        try roundTrip(Samples.source)
        try roundTrip(Samples.gate)
        try roundTrip(Samples.store)
        try roundTrip(Samples.sync)
        try roundTrip(Samples.auth)
        try roundTrip(Samples.status)
        try roundTrip(Samples.vehicle)
        try roundTrip(Samples.rejected)
        try roundTrip(Samples.setting)
        try roundTrip(Samples.command)
        try roundTrip(Samples.event)
        try roundTrip(Samples.counters)
        try roundTrip(Wire.Event(kind: "state", state: .idle))
        for state in Wire.State.allCases { try roundTrip(state) }
        for health in Wire.SourceHealth.allCases { try roundTrip(health) }
        for state in Wire.SyncState.allCases { try roundTrip(state) }
    }

    @Test("an absent value is omitted, never null")
    func absent() throws {
        let data = try JSONEncoder().encode(Samples.bareLocation)
        #expect(!String(decoding: data, as: UTF8.self).contains("null"))
        #expect(
            try keys(Samples.bareLocation) == [
                "id", "timestamp", "trigger", "motion", "is_mock", "latitude", "longitude",
            ])
        #expect(try keys(Wire.Event(kind: "state")) == ["kind"])
    }

    @Test("any JSON value survives a round trip, large and negative numbers included")
    func values() throws {
        let value = JSONValue.object([
            "a": .array([
                .null, .bool(false), .integer(.min), .integer(.max), .number(0.1), .string("é\u{1}\""),
            ]),
            "b": .object([:]),
        ])
        try roundTrip(value)
        #expect(try JSONDecoder().decode([JSONValue].self, from: Data("[1e300]".utf8)) == [.number(1e300)])
    }

    @Test("each type has exactly the fields of the interface definition")
    func fields() throws {
        let types: [(String, any Encodable)] = [
            ("Location", Samples.location), ("Geofence", Samples.geofence),
            ("GeofenceEvent", Samples.geofenceEvent), ("VehicleEvent", Samples.vehicleEvent),
            ("Session", Samples.session), ("Place", Samples.place), ("Trip", Samples.trip),
            ("SourceStatus", Samples.source), ("GateStatus", Samples.gate), ("StoreStatus", Samples.store),
            ("SyncStatus", Samples.sync), ("Heartbeat", Samples.sync.heartbeat), ("AuthStatus", Samples.auth),
            ("Rejection", Samples.rejection),
            ("Destination", Samples.destination),
            ("Status", Samples.status), ("VehicleStatus", Samples.vehicle),
            ("Rejected", Samples.rejected), ("ServerCommand", Samples.command),
            ("Setting", Samples.setting), ("Event", Samples.event),
            ("HttpRequest", Samples.httpRequest), ("Counters", Samples.counters),
            ("CommitTimes", Samples.counters.commits), ("RequestCount", Samples.counters.requests.first),
        ]
        for (name, value) in types {
            #expect(try keys(value) == Definition.fields(of: name), "\(name)")
        }
        #expect(Definition.types.count == types.count + 3)
    }

    @Test("each enum has exactly the values of the interface definition")
    func enums() {
        #expect(Definition.values(of: "State") == Wire.State.allCases.map(\.rawValue))
        #expect(Definition.values(of: "SourceHealth") == Wire.SourceHealth.allCases.map(\.rawValue))
        #expect(Definition.values(of: "SyncState") == Wire.SyncState.allCases.map(\.rawValue))
    }
}

/// Parses the interface definition line by line, relying on the layout of the shipped file.
enum Definition {
    static let lines = InterfaceDescription.tracker.text.split(separator: "\n").map(String.init)
    static let types = lines.filter { $0.hasPrefix("type ") }

    static func fields(of type: String) -> Set<String> {
        let body = lines.drop { $0 != "type \(type) (" }.dropFirst().prefix { $0 != ")" }
        return Set(body.map { String($0.drop { $0 == " " }.prefix { $0 != ":" }) })
    }

    static func values(of type: String) -> [String] {
        names(inParentheses: lines.first { $0.hasPrefix("type \(type) (") } ?? "")
    }

    /// The names in the first parentheses of a line, without their types.
    static func names(inParentheses line: String) -> [String] {
        line.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }.split(separator: ",").map {
            String($0.drop { $0 == " " }.prefix { $0 != ":" })
        }
    }
}
