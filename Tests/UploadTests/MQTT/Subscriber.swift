import Glibc
import Linux
import Support
import Synchronization

@testable import Upload

/// Subscribes to everything on a broker, and reads until the broker goes away: also what stands in the socket of a broker
/// that was killed.
final class Subscriber: Sendable {
    private let messages: Mailbag

    private final class Mailbag: Sendable {
        let heard = Mutex<[MQTTMessage]>([])
        let isSubscribed = Atomic(false)
        let isOver = Atomic(false)
    }

    /// Returns when it is subscribed. At QoS 0: mosquitto writes to the socket of such a subscriber before it acknowledges.
    init(_ broker: Broker, username: String? = nil, password: String? = nil) throws {
        let raw = connectToLoopback(broker.port)
        guard raw >= 0 else { throw SetUpFailed(operation: "connect", code: ECONNREFUSED) }
        let messages = Mailbag()
        self.messages = messages
        let connect = MQTTConnect(
            version: .v311, clientID: "subscriber-\(raw)", username: username, password: password,
            keepAlive: 0)
        for packet in [MQTTPacket.connect(connect), .subscribe(topic: "#", id: 1)] {
            guard let bytes = packet.encoded(for: .v311),
                send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0
            else {
                throw SetUpFailed(operation: "send", code: errno)
            }
        }
        try startThread(named: "subscriber") {
            var decoder = MQTTDecoder(version: .v311)
            var piece = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(raw, &piece, piece.count, 0)
                guard count > 0 else { break }
                decoder.append(piece.prefix(count))
                while let packet = try? decoder.next() {
                    if case .publish(let message) = packet { messages.heard.withLock { $0.append(message) } }
                    if case .suback = packet {
                        messages.isSubscribed.store(true, ordering: .sequentiallyConsistent)
                    }
                }
            }
            close(raw)
            messages.isOver.store(true, ordering: .sequentiallyConsistent)
        }
        guard
            wait(
                upTo: 60, until: { messages.isSubscribed.load(ordering: .sequentiallyConsistent) || pause() })
        else { throw SetUpFailed(operation: "subscribe", code: ETIMEDOUT) }
    }

    /// What has come so far.
    var heard: [MQTTMessage] { messages.heard.withLock { $0 } }

    /// Waits for a message.
    func hears(_ message: MQTTMessage) -> Bool {
        wait(upTo: 60) { heard.contains(message) || pause() }
    }

    /// Waits until the broker is gone and everything is read.
    func isOver() -> Bool {
        wait(upTo: 60) { messages.isOver.load(ordering: .sequentiallyConsistent) || pause() }
    }
}
