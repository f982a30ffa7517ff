import Base
import Foundation
import Testing
import Tracking

@testable import Upload

@Suite("what Home Assistant is told")
struct HomeAssistantTests {
    private static let me = "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"
    private static let device = HomeAssistant(
        installID: me, name: "van1", model: "Pi \"4\"", version: "0.2.0")
    private static let tail = """
        "qos":1,"device":{"identifiers":["beekond_\(me)"],"name":"van1","manufacturer":"beekond","model":"Pi \\"4\\"",\
        "sw_version":"0.2.0"},"origin":{"name":"beekond","sw_version":"0.2.0"}}
        """
    private static let away = "\"availability_topic\":\"beekond/\(me)/availability\""

    private static func sensor(_ id: String, _ name: String, _ place: String, _ member: String) -> String {
        """
        {"unique_id":"\(me)_\(id)","name":"\(name)","state_topic":"beekond/\(me)/\(place)",\
        "value_template":"{{ value_json.\(member) }}",
        """
    }

    private static func measure(_ kind: String, _ unit: String, _ state: String) -> String {
        "\"device_class\":\"\(kind)\",\"unit_of_measurement\":\"\(unit)\",\"state_class\":\"\(state)\","
    }

    /// As they are, without what all of them end with.
    static let documents = [
        "device_tracker/position": """
        {"unique_id":"\(me)_position","name":null,"source_type":"gps",\
        "json_attributes_topic":"beekond/\(me)/position",
        """,
        "sensor/speed": sensor("speed", "Speed", "position", "speed")
            + measure("speed", "m/s", "measurement") + away + ",",
        "sensor/altitude": sensor("altitude", "Altitude", "position", "altitude")
            + measure("distance", "m", "measurement"),
        "sensor/odometer": sensor("odometer", "Odometer", "state", "odometer")
            + measure("distance", "m", "total"),
        "sensor/battery": sensor("battery", "Battery", "state", "battery")
            + measure("battery", "%", "measurement"),
        "sensor/pending": sensor("pending", "Pending", "state", "pending")
            + "\"entity_category\":\"diagnostic\",\"state_class\":\"measurement\"," + away + ",",
        "sensor/last_fix": sensor("last_fix", "Last fix", "position", "timestamp")
            + "\"device_class\":\"timestamp\",\"entity_category\":\"diagnostic\",",
        "binary_sensor/ignition": sensor("ignition", "Ignition", "state", "ignition")
            + "\"payload_on\":\"on\",\"payload_off\":\"off\"," + away + ",",
        "binary_sensor/connectivity": """
        {"unique_id":"\(me)_connectivity","name":"Connectivity","state_topic":"beekond/\(me)/availability",\
        "payload_on":"online","payload_off":"offline","device_class":"connectivity","entity_category":"diagnostic",
        """,
    ]

    @Test("each entity has a document, to the byte, and each is JSON")
    func documents() throws {
        let told = Self.device.documents(hasBattery: true)
        #expect(told.count == Self.documents.count && told.allSatisfy(\.isRetained))
        for message in told {
            let levels = message.topic.split(separator: "/")
            #expect(levels.count == 5 && levels[0] == "homeassistant" && levels[2] == "beekond_\(Self.me)")
            #expect(levels[4] == "config")
            let wanted = Self.documents["\(levels[1])/\(levels[3])"].map { $0 + Self.tail }
            #expect(String(decoding: message.payload, as: UTF8.self) == wanted)
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(message.payload)) }
        }
    }

    @Test("topics have letters, digits, _ and - between their slashes")
    func topics() {
        let topics = HomeAssistant.topics(of: Self.me)
        #expect(topics.count == Self.documents.count + 3 && Set(topics).count == topics.count)
        for topic in topics {
            #expect(
                topic.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { level in
                    !level.isEmpty
                        && level.allSatisfy {
                            $0.isASCII && ($0.isLetter || $0.isNumber || "_-".contains($0))
                        }
                })
        }
        // Nothing is told that is not removed.
        let told =
            Self.device.documents(hasBattery: true)
            + [
                Self.device.position(FormatSamples.location()),
                Self.device.state(odometer: nil, ignition: nil, battery: nil, pending: 0),
                HomeAssistant.availability(of: Self.me, isOnline: false),
            ]
        #expect(Set(told.map(\.topic)) == Set(topics))
    }

    @Test("without a battery there is no document of it, and an earlier one goes")
    func noBattery() {
        let told = Self.device.documents(hasBattery: false).filter { $0.payload.isEmpty }
        #expect(told.map(\.topic) == ["homeassistant/sensor/beekond_\(Self.me)/battery/config"])
    }

    @Test("a name is escaped, a model is cut, and one that nobody knows is left out")
    func names() throws {
        let device = HomeAssistant(
            installID: "i", name: "a\"b\\\n", model: String(repeating: "m", count: 65), version: "1")
        for message in device.documents(hasBattery: true) {
            let found = try JSONSerialization.jsonObject(with: Data(message.payload))
            let said = try #require((found as? [String: Any])?["device"] as? [String: Any])
            #expect(said["name"] as? String == "a\"b\\\n")
            #expect(said["model"] as? String == String(repeating: "m", count: 64))
        }
        let bare = HomeAssistant(installID: "i", name: "n", model: nil, version: "1")
        let document = try #require(bare.documents(hasBattery: true).first)
        #expect(!String(decoding: document.payload, as: UTF8.self).contains("model"))
    }

    private static func text(_ message: MQTTMessage) -> String {
        #expect(message.isRetained)
        return String(decoding: message.payload, as: UTF8.self)
    }

    @Test("where it is; an accuracy is always a number")
    func position() {
        let whole = Self.device.position(FormatSamples.location())
        #expect(whole.topic == "beekond/\(Self.me)/position")
        #expect(
            Self.text(whole) == """
                {"latitude":37.7749,"longitude":-122.4194,"gps_accuracy":6,"altitude":14.3,"speed":2.5,"course":180.5,\
                "timestamp":"2026-06-15T12:34:10.250Z"}
                """)
        #expect(
            Self.text(Self.device.position(FormatSamples.bare)) == """
                {"latitude":37.7749,"longitude":-122.4194,"gps_accuracy":100,"altitude":null,"speed":null,"course":null,\
                "timestamp":"2026-06-15T12:34:10.250Z"}
                """)
        let exact = FormatSamples.location { $0.fix.accuracy = 0 }
        #expect(Self.text(Self.device.position(exact)).contains("\"gps_accuracy\":1,"))
    }

    @Test(
        "its state, with every member",
        arguments: [
            (1234, true, 80, 5, "{\"odometer\":1234,\"ignition\":\"on\",\"battery\":80,\"pending\":5}"),
            (0, false, nil, 0, "{\"odometer\":0,\"ignition\":\"off\",\"battery\":null,\"pending\":0}"),
            (nil, nil, nil, 0, "{\"odometer\":null,\"ignition\":null,\"battery\":null,\"pending\":0}"),
        ] as [(Int64?, Bool?, Int?, Int, String)])
    func state(odometer: Int64?, ignition: Bool?, percent: Int?, pending: Int, text: String) {
        let message = Self.device.state(
            odometer: odometer, ignition: ignition,
            battery: percent.map { Battery(percent: $0, state: .charging) }, pending: pending)
        #expect(message.topic == "beekond/\(Self.me)/state" && Self.text(message) == text)
    }

    @Test("the will says that it is away")
    func availability() {
        #expect(
            HomeAssistant.availability(of: "i", isOnline: false)
                == MQTTMessage(
                    topic: "beekond/i/availability", payload: Array("offline".utf8), isRetained: true))
    }

    @Test("what a broker has acknowledged is not told again over the same connection")
    func retained() {
        func message(_ topic: String, _ byte: UInt8) -> MQTTMessage {
            MQTTMessage(topic: topic, payload: [byte], isRetained: true)
        }
        var retained = RetainedMessages()
        let wanted = [message("a", 1), message("b", 2)]
        #expect(retained.use(connection: nil) == false)
        #expect(retained.use(connection: 1) == true)
        #expect(retained.next(of: wanted) == wanted[0])
        retained.note(wanted[0])
        #expect(retained.next(of: wanted) == wanted[1])
        retained.note(wanted[1])
        #expect(retained.use(connection: 1) == false)
        #expect(retained.next(of: wanted) == nil)
        #expect(retained.next(of: [wanted[0], message("b", 3)]) == message("b", 3))
        // The connection is gone: whatever the broker has said of that is to be put right over the next.
        #expect(retained.use(connection: nil) == true)
        #expect(retained.next(of: wanted) == wanted[0])
        retained.note(wanted[0])
        retained.forget()
        #expect(retained.next(of: wanted) == wanted[0])
    }
}
