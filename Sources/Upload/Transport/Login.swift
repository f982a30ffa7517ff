package import DaemonConfiguration
internal import FoundationEssentials

extension Settings.Sync {
    /// The headers that go with every batch: those of the configuration, and the login of the format `owntracks` over HTTP, by
    /// the scheme Basic. The configuration never has both a login and a header `Authorization`.
    package var standingHeaders: [Settings.Field] {
        guard case .owntracks(let own) = format, own.mqtt == nil, let name = own.username?.text,
            let password = own.password?.text
        else { return headers }
        let login = Data("\(name):\(password)".utf8).base64EncodedString()
        return headers + [Settings.Field(name: "Authorization", value: Secret("Basic " + login))]
    }
}
