internal import Configuration
internal import ControlProtocol
internal import Linux

extension Handlers {
    func config(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetConfig.self)
        let settings = configurator.loaded.listing.map { Wire.Setting($0) }
        return .reply(try Reply.encode(Wire.GetConfig.self, .init(settings: settings)))
    }

    func configure(_ call: Call, _ peer: Peer) throws -> Answer {
        let settings = try call.parameters(of: Wire.Configure.self).settings
        // What is no setting is refused for that, whoever asks.
        if settings.keys.contains(where: { Key.named($0)?.key.needsAdmin ?? false }) {
            try requireAdmin(peer)
        }
        log(call, peer)
        let caller = Configurator.Caller(
            isRoot: isRoot(peer), name: peer.description, fields: fields(call, peer))
        return ask(.set(settings.mapValues { ProposedValue($0) }, by: caller))
    }

    func resetConfig(_ call: Call, _ peer: Peer) throws -> Answer {
        let names = try call.parameters(of: Wire.ResetConfig.self).keys
        if names.contains(where: { Key.needsAdmin($0) }) { try requireAdmin(peer) }
        log(call, peer)
        return ask(.reset(names))
    }

    func reload(_ call: Call, _ peer: Peer) throws -> Answer {
        _ = try call.parameters(of: Wire.Reload.self)
        log(call, peer)
        return ask(.reload)
    }

    private func ask(_ request: Configurator.Request) -> Answer {
        let token = nextToken()
        configurator.ask(request, token, hub)
        return .later(token)
    }
}
