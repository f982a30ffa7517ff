internal import ControlProtocol
internal import ControlTool

extension Checks {
    /// One finding for each destination besides `main`.
    static func destinations(_ facts: Facts) -> [Finding] {
        facts.others.map { way(to: $0, facts) }
            + (facts.status?.destinations.filter(\.isAbandoned).map { orphan($0) } ?? [])
    }

    /// The first step that fails, or how far it was tried.
    private static func way(to other: DestinationFacts, _ facts: Facts) -> Finding {
        let check = title(other.name)
        let backend = other.backend
        let encryption = encryption(backend)
        let sync = facts.status?.destinations.first { $0.name == other.name }?.sync
        // Without the configuration nothing was asked, and beekonctl status tells of what beekond was answered.
        let answer = backend.answer.map { _ in endpoint(backend, sync, of: other.name, facts) }
        let heartbeat = heartbeat(sync, backend, facts)
        let letters = deadLetters(sync, of: other.name, facts)
        let steps =
            [name(backend), connection(backend), encryption]
            + [answer, letters, heartbeat].compactMap(\.self)
        if let failed = steps.first(where: { $0.result == .failed }) {
            return .failed(check, "\(failed.check): \(failed.text)", failed.remedy ?? "")
        }
        let place = "\(backend.host):\(backend.port) accepts connections"
        let said = [place, encryption.result == .ok ? encryption.text : nil, answer?.text]
            .compactMap(\.self).joined(separator: ", ")
        if let answer, let remedy = answer.remedy { return .skipped(check, said, remedy) }
        guard let unique = uniqueID(backend), let remedy = unique.remedy else { return .ok(check, said) }
        return .skipped(check, "\(said); unique_id \(unique.text)", remedy)
    }

    /// One finding for each destination that could not tell Home Assistant of the vehicle, or has not removed it there.
    static func homeAssistant(_ facts: Facts) -> [Finding] {
        guard let status = facts.status else { return [] }
        let main = (name: DestinationNames.main, sync: status.sync)
        let others = status.destinations.filter { $0.name != main.name }.map {
            (name: $0.name, sync: $0.sync)
        }
        return ([main] + others).compactMap { name, sync in
            sync.homeAssistant.map { trouble in
                .failed(
                    "Home Assistant", "\(name): \(trouble)",
                    "see the broker's log, and check that its access list lets this user write to the topics of the "
                        + "vehicle (mosquitto.toml among the examples lists them); beekond tries again by itself"
                )
            }
        }
    }

    private static func orphan(_ orphan: Wire.Destination) -> Finding {
        let words = orphan.orphanWords
        return .failed(
            title(orphan.name), "\(words.what); \(Quantity.count(orphan.sync.pending)) pending wait for it",
            words.remedy)
    }

    private static func title(_ name: String) -> String { Text.cut("to " + Text.safe(name), to: 35) }
}
