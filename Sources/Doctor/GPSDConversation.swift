internal import FoundationEssentials
internal import Linux

/// A short talk with gpsd.
enum GPSDConversation {
    /// Seconds for its greeting and its list of receivers.
    private static let greeting = 3.0
    /// Seconds for a report of position and one of satellites: a receiver sends both once a second.
    private static let watching = 5.0

    /// What is looked at in a report.
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
    ///   - watching: also wait for what the receiver says.
    static func hold(with known: GPSDFacts, watching: Bool) -> GPSDFacts {
        var facts = known
        do throws(Link.Failure) {
            var link = try Link(host: known.host, port: known.port)
            facts.contact = .silent
            link.send("?DEVICES;\n")
            listen(&link, greeting, &facts) { $0.devices != nil }
            guard watching, facts.contact != .silent, facts.devices?.isEmpty != true else { return facts }
            link.send("?WATCH={\"enable\":true,\"json\":true};\n")
            listen(&link, Self.watching, &facts) { ($0.mode ?? 0) >= 2 && $0.used != nil }
        } catch {
            switch error {
            case .name(let words), .connect(let words): facts.contact = .failed(words)
            }
        }
        return facts
    }

    private static func listen(
        _ link: inout Link, _ seconds: Double, _ facts: inout GPSDFacts, until isEnough: (GPSDFacts) -> Bool
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
