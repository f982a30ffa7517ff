import Linux
import Support

@testable import Upload

/// - Parameter version: 3.1.1, as if the broker had refused 5.
func mqttClient(speaking version: MQTTVersion = .v5) throws -> MQTTClient {
    var dialect = MQTTDialect()
    let refusal = MQTTAnswer(source: .connack, code: 1, version: .v5)
    if version == .v311 { _ = dialect.refused(.answer(refusal), by: .v5, wasHungUp: false) }
    guard let client = MQTTClient(dialect: dialect) else { throw SetUpFailed(operation: "libcurl", code: 0) }
    return client
}

extension MQTTClient {
    /// A publication from its beginning to its end.
    mutating func ask(_ text: String, _ options: MQTTOptions, topic: String = "owntracks/u/d") throws
        -> MQTTOutcome
    {
        publish(publication(text, topic: topic), options, wakeup: try Wakeup()) { false }
    }
}

func publication(_ text: String, topic: String = "owntracks/u/d", expectsEcho: Bool = false)
    -> MQTTPublication
{
    MQTTPublication(MQTTMessage(topic: topic, payload: Array(text.utf8)), expectsEcho: expectsEcho)
}

func puback(_ code: UInt8, _ version: MQTTVersion = .v5, echo: MQTTAnswer.Echo = .unasked) -> MQTTOutcome {
    .answer(MQTTAnswer(source: .puback, code: code, version: version, echo: echo))
}

extension Link {
    /// The next packet of the client; nil when the connection ended before.
    func packet() -> [UInt8]? {
        guard let first = take(1) else { return nil }
        var (length, shift, header) = (0, 0, first)
        while true {
            guard let digit = take(1) else { return nil }
            header += digit
            length |= Int(digit[0] & 0x7F) << shift
            if digit[0] & 0x80 == 0 { break }
            shift += 7
        }
        return take(length).map { header + $0 }
    }

    /// Takes CONNECT, and accepts it.
    func welcome(_ connack: [UInt8] = [0x20, 3, 0, 0, 0]) -> Bool {
        guard packet()?.first == 0x10 else { return false }
        send(connack)
        return true
    }

    /// Acknowledges each message until the connection ends.
    func acknowledge() {
        while let packet = packet() {
            // The topic has 13 bytes.
            if packet[0] == 0x32 { send([0x40, 2, packet[17], packet[18]]) }
            if packet[0] == 0xC0 { send([0xD0, 0]) }
        }
    }
}

/// A broker that does with each connection what the test says.
struct FakeBroker {
    let server: RawServer

    init(_ serve: @escaping @Sendable (Link) -> Void) throws {
        server = try RawServer(serve)
    }

    func options(timeout: Double = 30) -> MQTTOptions {
        MQTTOptions(url: "mqtt://127.0.0.1:\(server.port)", clientID: "c", timeout: timeout)
    }
}
