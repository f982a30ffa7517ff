internal import Base
package import Tracking

/// One vehicle as Home Assistant finds it by itself at a broker: the documents that announce it, and the topics with what they
/// say (home-assistant.io/integrations/mqtt, "MQTT discovery"). All of them are retained. Pure.
///
/// Each entity has a document of its own, which Home Assistant understands from 2023.6 on.
package struct HomeAssistant: Equatable, Sendable {
    /// Where Home Assistant says `online` when it has started (its "birth message").
    package static let statusTopic = "homeassistant/status"
    /// What Home Assistant says when it has started.
    package static let birth = Array("online".utf8)
    /// Metres, in place of an unknown accuracy, which must be a number.
    private static let assumedAccuracy: Int64 = 100
    /// Bytes of the machine's model.
    private static let modelLimit = 64

    private let installID: String
    private let name: String
    private let model: String?
    private let version: String

    /// - Parameters:
    ///   - installID: of this installation: letters, digits, `_` and `-` alone, as topics of Home Assistant demand.
    ///   - name: of the vehicle, for people.
    ///   - model: of the machine; nil: nobody says.
    ///   - version: of beekond.
    package init(installID: String, name: String, model: String?, version: String) {
        self.installID = installID
        self.name = name
        self.model = model.map { String($0.prefix(Self.modelLimit)) }
        self.version = version
    }

    // MARK: What is told

    /// The documents that announce the vehicle, one for each entity.
    ///
    /// - Parameter hasBattery: without one the document is empty, which removes an earlier one.
    package func documents(hasBattery: Bool) -> [MQTTMessage] {
        Entity.allCases.map { entity in
            MQTTMessage(
                topic: entity.topic(installID),
                payload: entity == .battery && !hasBattery ? [] : document(entity), isRetained: true)
        }
    }

    /// Where the vehicle is, or was last.
    package func position(_ location: Location) -> MQTTMessage {
        let fix = location.fix
        var text = RequestText()
        text.put("{\"latitude\":")
        text.put(fix.coordinate.latitude)
        text.put(",\"longitude\":")
        text.put(fix.coordinate.longitude)
        text.put(",\"gps_accuracy\":")
        text.put(fix.accuracy?.ifFinite.map { max($0, 1).whole(.up) } ?? Self.assumedAccuracy)
        text.put(member: "altitude", fix.altitude)
        text.put(member: "speed", fix.speed)
        text.put(member: "course", fix.bearing)
        text.put(",\"timestamp\":\"")
        text.put(fix.time)
        text.put("\"}")
        return message(.position, text)
    }

    /// What is known of the vehicle besides.
    ///
    /// - Parameters:
    ///   - odometer: metres; nil: not known.
    ///   - ignition: nil: not known.
    ///   - battery: of the machine; nil: there is none, or it does not say.
    ///   - pending: locations and events that this destination is still to be sent.
    package func state(odometer: Int64?, ignition: Bool?, battery: Battery?, pending: Int) -> MQTTMessage {
        var text = RequestText()
        text.put("{\"odometer\":")
        text.put(orNull: odometer)
        switch ignition {
        case true?: text.put(",\"ignition\":\"on\"")
        case false?: text.put(",\"ignition\":\"off\"")
        case nil: text.put(",\"ignition\":null")
        }
        text.put(",\"battery\":")
        text.put(orNull: battery.map { Int64($0.percent) })
        text.put(",\"pending\":")
        text.put(Int64(pending))
        text.put("}")
        return message(.state, text)
    }

    /// Whether the vehicle is connected. The broker says `offline` itself when the connection ends.
    package static func availability(of installID: String, isOnline: Bool) -> MQTTMessage {
        MQTTMessage(
            topic: Place.availability.topic(installID),
            payload: Array((isOnline ? "online" : "offline").utf8),
            isRetained: true)
    }

    /// Every topic that the broker may retain something of: an empty message on each of them removes the vehicle. The documents
    /// come first, so that no entity is left which says that it is unavailable.
    package static func topics(of installID: String) -> [String] {
        Entity.allCases.map { $0.topic(installID) } + Place.allCases.map { $0.topic(installID) }
    }

    private func message(_ place: Place, _ text: RequestText) -> MQTTMessage {
        MQTTMessage(topic: place.topic(installID), payload: text.bytes, isRetained: true)
    }

    // MARK: The documents

    /// A topic of the vehicle that is no document.
    private enum Place: String, CaseIterable {
        case position, state, availability

        func topic(_ installID: String) -> String { "beekond/\(installID)/\(rawValue)" }
    }

    /// What Home Assistant shows of the vehicle; the raw value is part of topics and ids.
    private enum Entity: String, CaseIterable {
        case position, speed, altitude, odometer, battery, pending
        case lastFix = "last_fix"
        case ignition, connectivity

        private var component: String {
            switch self {
            case .position: "device_tracker"
            case .speed, .altitude, .odometer, .battery, .pending, .lastFix: "sensor"
            case .ignition, .connectivity: "binary_sensor"
            }
        }

        func topic(_ installID: String) -> String {
            "homeassistant/\(component)/beekond_\(installID)/\(rawValue)/config"
        }

        /// What is special about the document. A template makes the text `None` of null, which means unknown.
        ///
        /// The tracker has neither a topic for its state, which would end that it follows zones, nor one for its availability:
        /// while it is unavailable it has no position, and a car would vanish whenever it is in a garage.
        var members: [(name: StaticString, value: Value)] {
            switch self {
            case .position:
                [
                    ("name", .null), ("source_type", .text("gps")),
                    ("json_attributes_topic", .topic(.position)),
                ]
            case .speed:
                sensor("Speed", .position, "speed")
                    + measure("speed", "m/s", "measurement") + [("availability_topic", .topic(.availability))]
            case .altitude:
                sensor("Altitude", .position, "altitude") + measure("distance", "m", "measurement")
            // Not one that only increases: the odometer can be set.
            case .odometer: sensor("Odometer", .state, "odometer") + measure("distance", "m", "total")
            case .battery: sensor("Battery", .state, "battery") + measure("battery", "%", "measurement")
            case .pending:
                sensor("Pending", .state, "pending")
                    + [
                        ("entity_category", .text("diagnostic")), ("state_class", .text("measurement")),
                        ("availability_topic", .topic(.availability)),
                    ]
            case .lastFix:
                sensor("Last fix", .position, "timestamp")
                    + [("device_class", .text("timestamp")), ("entity_category", .text("diagnostic"))]
            case .ignition:
                sensor("Ignition", .state, "ignition")
                    + [
                        ("payload_on", .text("on")), ("payload_off", .text("off")),
                        ("availability_topic", .topic(.availability)),
                    ]
            case .connectivity:
                [
                    ("name", .text("Connectivity")), ("state_topic", .topic(.availability)),
                    ("payload_on", .text("online")), ("payload_off", .text("offline")),
                    ("device_class", .text("connectivity")), ("entity_category", .text("diagnostic")),
                ]
            }
        }

        private func sensor(
            _ name: String, _ place: Place, _ member: String
        ) -> [(name: StaticString, value: Value)] {
            [
                ("name", .text(name)), ("state_topic", .topic(place)),
                ("value_template", .text("{{ value_json.\(member) }}")),
            ]
        }

        private func measure(
            _ kind: String, _ unit: String, _ state: String
        ) -> [(name: StaticString, value: Value)] {
            [
                ("device_class", .text(kind)), ("unit_of_measurement", .text(unit)),
                ("state_class", .text(state)),
            ]
        }
    }

    private enum Value {
        case null
        case text(String)
        case topic(Place)
    }

    private func document(_ entity: Entity) -> [UInt8] {
        var text = RequestText()
        text.put("{\"unique_id\":")
        text.put(string: "\(installID)_\(entity.rawValue)")
        for (name, value) in entity.members {
            text.put(",\"")
            text.put(name)
            text.put("\":")
            switch value {
            case .null: text.put("null")
            case .text(let value): text.put(string: value)
            case .topic(let place): text.put(string: place.topic(installID))
            }
        }
        text.put(",\"qos\":1,\"device\":{\"identifiers\":[")
        text.put(string: "beekond_\(installID)")
        text.put("],\"name\":")
        text.put(string: name)
        text.put(",\"manufacturer\":\"beekond\"")
        if let model {
            text.put(",\"model\":")
            text.put(string: model)
        }
        text.put(",\"sw_version\":")
        text.put(string: version)
        text.put("},\"origin\":{\"name\":\"beekond\",\"sw_version\":")
        text.put(string: version)
        text.put("}}")
        return text.bytes
    }
}

extension RequestText {
    /// A member of an object that has others before it; null for what is not known.
    fileprivate mutating func put(member name: StaticString, _ value: Double?) {
        put(",\"")
        put(name)
        put("\":")
        if let value = value?.ifFinite { put(value) } else { put("null") }
    }

    fileprivate mutating func put(orNull value: Int64?) {
        if let value { put(value) } else { put("null") }
    }
}
