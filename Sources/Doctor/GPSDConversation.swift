internal import FoundationEssentials
internal import Linux

/// A short conversation with gpsd.
enum GPSDConversation {
    /// Seconds to wait for the greeting and the list of receivers.
    private static let greeting = 3.0
    /// Seconds to wait for one position and one satellite report: receivers send both once a second.
    private static let watching = 5.0

    /// The parts of a message that matter here.
    private struct Message: Decodable {
        var `class`: String
        var release: String?
        var devices: [Device]?
        var mode: Int?
        var satellites: [Satellite]?
        var uSat: Int?
        var nSat: Int?

        struct Device: Decodable { var path: String? }
        struct Satellite: Decodable { var used: Bool? }
    }

    /// - Parameters:
    ///   - known: host and port.
    ///   - watching: whether to wait for the receiver's reports as well.
    static func query(_ known: GPSDFacts, watching: Bool) -> GPSDFacts {
        var facts = known
        do throws(TCPConnection.Failure) {
            var link = try TCPConnection(host: known.host, port: known.port)
            facts.contact = .silent
            link.send("?DEVICES;\n")
            receive(&link, greeting, &facts) { $0.devices != nil }
            guard watching, facts.contact != .silent, facts.devices?.isEmpty != true else { return facts }
            link.send("?WATCH={\"enable\":true,\"json\":true};\n")
            receive(&link, Self.watching, &facts) { ($0.mode ?? 0) >= 2 && $0.used != nil }
        } catch {
            switch error {
            case .name(let message), .connect(let message): facts.contact = .failed(message)
            }
        }
        return facts
    }

    private static func receive(
        _ link: inout TCPConnection, _ seconds: Double, _ facts: inout GPSDFacts,
        until isEnough: (GPSDFacts) -> Bool
    ) {
        let deadline = Clock.boot() + Int64(seconds * 1e9)
        while !isEnough(facts), let line = link.line(until: deadline) {
            guard let message = try? JSONDecoder().decode(Message.self, from: Data(line)) else { continue }
            switch message.class {
            case "VERSION": facts.contact = .answered(message.release ?? "?")
            case "DEVICES": facts.devices = message.devices?.compactMap(\.path)
            case "TPV": facts.mode = message.mode
            case "SKY":
                facts.visible = message.satellites?.count ?? message.nSat
                facts.used = message.satellites.map { $0.count { $0.used ?? false } } ?? message.uSat
            default: break
            }
        }
    }
}
