package import DaemonConfiguration
internal import Glibc

/// The destination of a request, and the credentials that it is made with: TLS sessions that were agreed for one are
/// never resumed for another. A token that a refresh has replaced is no other credential.
package struct SessionIdentity: Equatable, Sendable {
    /// Where batches go.
    package var url: String
    /// Headers that go with every batch: an API key, perhaps, or a login.
    package var headers: [Settings.Field]
    /// Where tokens come from; nil for none.
    package var auth: Settings.Auth?
    /// Name and password of the login, empty for none.
    package var login: [Secret]

    /// As configured.
    package init(_ sync: Settings.Sync) {
        url = sync.url
        headers = sync.headers
        auth = sync.auth
        login =
            if case .owntracks(let own) = sync.format {
                [own.username, own.password].compactMap(\.self)
            } else { [] }
    }

    /// The identity of a connection to a broker.
    init(_ options: MQTTOptions) {
        url = options.url
        headers = []
        login = [options.username, options.password].compactMap { $0.map { Secret($0) } }
    }
}

/// Which file a TLS handshake read, as far as the file system tells.
struct TLSFile: Equatable, Sendable {
    var path: String
    /// nil while it cannot be found.
    var state: State?

    struct State: Equatable, Sendable {
        var device: UInt64
        var inode: UInt64
        /// Bytes.
        var size: Int64
        /// Nanoseconds since 1970, modulo 2⁶⁴.
        var modified: Int64
    }

    /// Looks at the file, or at the one that a link leads to.
    init(path: String) {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        state = State(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
            modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec))
    }
}

extension SessionLifetime.Terms {
    /// The terms of a request that is about to be made; nil when it resumes no session.
    init?(_ options: HTTPOptions) {
        guard let identity = options.identity else { return nil }
        self.init(
            identity, proxy: options.proxy, [options.caFile, options.clientCertificate, options.clientKey])
    }

    /// The terms of a publication over TLS that is about to be made.
    init(_ options: MQTTOptions) {
        self.init(
            SessionIdentity(options), proxy: options.proxy,
            [options.caFile, options.clientCertificate, options.clientKey])
    }

    private init(_ identity: SessionIdentity, proxy: String?, _ paths: [String?]) {
        self.init(identity: identity, proxy: proxy, files: paths.map { $0.map(TLSFile.init(path:)) })
    }
}
