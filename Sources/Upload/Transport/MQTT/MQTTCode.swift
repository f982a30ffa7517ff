/// Reason codes that a publisher meets (MQTT 5.0 section 2.4). Others survive as numbers.
enum MQTTCode {
    static let success: UInt8 = 0
    /// Accepted, and dropped.
    static let nobodySubscribes: UInt8 = 16
    static let unsupportedVersion: UInt8 = 132
    static let notAuthorized: UInt8 = 135
    static let invalidTopic: UInt8 = 144
    static let packetTooLarge: UInt8 = 149
    static let unsupportedQoS: UInt8 = 155

    private static let names: [UInt8: String] = [
        0: "success", 16: "no matching subscribers", 128: "unspecified error", 129: "malformed packet",
        130: "protocol error", 131: "implementation-specific error", 132: "unsupported protocol version",
        133: "client identifier not valid", 134: "bad user name or password", 135: "not authorized",
        136: "server unavailable", 137: "server busy", 138: "banned", 139: "server shutting down",
        140: "bad authentication method", 141: "keep-alive timeout", 142: "session taken over",
        143: "topic filter invalid", 144: "topic name invalid", 145: "packet identifier in use",
        147: "receive maximum exceeded", 149: "packet too large", 150: "message rate too high",
        151: "quota exceeded", 152: "administrative action", 153: "payload format invalid",
        154: "retain not supported", 155: "QoS not supported", 156: "use another server", 157: "server moved",
        159: "connection rate exceeded", 160: "maximum connect time",
    ]
    /// MQTT 3.1.1 section 3.2.2.3.
    private static let oldNames: [UInt8: String] = [
        1: "unacceptable protocol version", 2: "identifier rejected", 3: "server unavailable",
        4: "bad user name or password", 5: "not authorized",
    ]

    /// The standard's name, for people who look it up; empty when there is none.
    static func name(_ code: UInt8) -> String { names[code] ?? oldNames[code] ?? "" }

    /// "not authorized (135): the broker's own reason".
    static func words(_ code: UInt8, _ reason: String?) -> String {
        let name = name(code)
        return (name.isEmpty ? "code \(code)" : "\(name) (\(code))") + (reason.map { ": " + $0 } ?? "")
    }
}
