internal import Base
internal import ControlProtocol
internal import DaemonConfiguration

/// Settings and extras. Each setting has a right of its own (`Authority`).
enum SettingsMethods: MethodGroup {
    static var methods: [Method] {
        Method.question(Wire.GetConfig.self, for: .members) { handlers, _, _ in
            let overridden = handlers.configurator.overridden
            let settings = handlers.configurator.loaded.listing
            return .init(
                settings: settings.map { Wire.Setting($0, overridesServer: overridden.contains($0.key)) })
        }
        Method.command(Wire.Configure.self, for: .members) { parameters in
            .configure(parameters.settings.mapValues { ProposedValue($0) })
        } result: { completion in
            completion.late.map { .init(adopting: $0) }
        }
        Method.command(Wire.ResetConfig.self, for: .members) { parameters in
            .resetConfig(parameters.keys)
        } result: { completion in
            completion.late.map { .init(adopting: $0) }
        }
        Method.command(Wire.ResetServerConfig.self, for: .members) { parameters in
            .resetServerConfig(parameters.keys)
        } result: { completion in
            guard case .adopted(let removed, _) = completion, let late = completion.late else { return nil }
            return .init(removed: removed, adopting: late)
        }
        Method.command(Wire.Reload.self, for: .members) { _ in
            .reload
        } result: { completion in
            completion.late.map { .init(adopting: $0) }
        }
        Method.question(Wire.GetExtras.self, for: .members) { handlers, _, _ in
            .init(extras: handlers.hub.board.extras)
        }
        Method.command(Wire.SetExtras.self, for: .members) { parameters in
            .setExtras(try Command.Extras(parameters.extras))
        }
    }
}

extension Completion {
    /// Destinations that do not go by new settings yet: absent in replies where there are none. nil: this is
    /// no outcome of a change of settings.
    fileprivate var late: [String]?? {
        guard case .adopted(_, let late) = self else { return nil }
        return .some(late.isEmpty ? nil : late.map(\.text))
    }
}
