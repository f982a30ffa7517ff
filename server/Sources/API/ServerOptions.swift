package import Alerts
package import Commands
package import Forwards
package import Page

/// How the server is set up. The numbers together keep it below 80 MB.
package struct ServerOptions: Sendable {
    /// Version of beekon-server.
    package static let version = "0.2.0"

    /// Where the server listens.
    package enum Address: Equatable, Sendable, CustomStringConvertible {
        /// Host and port; port 0: any that is free.
        case network(host: String, port: Int)
        /// A path.
        case socket(String)

        /// The address as options and files have it.
        package var description: String {
            switch self {
            case .network(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .socket(let path): path
            }
        }
    }

    /// What connections may cost.
    package struct Bounds: Sendable {
        /// Connections at once. More wait for a place.
        package var connections = 600
        /// Uploads that are worked at when another one is let in: two groups of a transaction of full batches, and no more, so
        /// that each is answered soon. At most half of the connections.
        package var work = 128
        /// Connections that wait in the kernel (and at most net.core.somaxconn).
        package var backlog = 4096
        /// Bytes of all bodies that are being read.
        package var bodies = 16 << 20
        /// Bytes of all answers that are being written piece by piece: as many as 256 at once.
        package var reads = 16 << 20
        /// Seconds until the beginning of the answer, from the first byte of a request on. beekond gives up after 60.
        package var deadlineSeconds = 30
        /// Seconds without a whole request, after which a connection gives way when three quarters of them are taken.
        package var patienceSeconds = 5
        /// Seconds in which a piece of an answer must have been taken.
        package var pieceSeconds = 30
        /// Seconds that a connection may be idle.
        package var idleSeconds = 60
    }

    package var address: Address
    package var bounds = Bounds()
    /// Seconds for which an access token is good. Each exchange costs the vehicle a handshake.
    package var tokenLifetime = 7 * 86_400.0
    /// Days for which locations are kept, by fix time; nil: for ever.
    package var retentionDays: Int?
    /// Days for which ids of batches are remembered: one that comes again later is judged by its rows.
    package var batchDays = 30
    /// nil: commands go unsigned.
    package var signingKey: SigningKey?
    /// nil: none is served.
    package var page: FleetPage?
    /// nil: there is none, or it is of no use.
    package var map: MapFile?
    /// Why a map file that is wanted is of no use; nil: it is not so.
    package var mapTrouble: String?
    /// Where mail is handed in; nil: there is none, or it is of no use.
    package var mail: MailServer?
    /// Why a mail server that is wanted is of no use; nil: it is not so.
    package var mailTrouble: String?
    /// Address of the page as people reach it, without a slash at its end; nil: mails have no link.
    package var publicURL: String?
    /// The service may not reach other machines.
    package var isConfined = false

    /// Where batches are forwarded to.
    package var forwards: [ForwardTarget] = []

    package init(address: Address) {
        self.address = address
    }
}
