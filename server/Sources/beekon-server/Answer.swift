import FoundationEssentials
import NIOCore

/// What the verbs read of answers.
enum Answer {
    struct NewDevice: Decodable {
        var id: Int64
        var name: String
        var access: String
        var expires: String
        var refresh: String

        private enum CodingKeys: String, CodingKey {
            case id, name
            case access = "access_token"
            case expires = "expires_at"
            case refresh = "refresh_token"
        }
    }

    struct Devices: Decodable {
        struct Device: Decodable {
            var id: Int64
            var name: String
            var revoked: String?
            var seen: String?
        }

        var devices: [Device]
    }

    struct NewUser: Decodable {
        var token: String
    }

    struct Users: Decodable {
        struct User: Decodable {
            var name: String
            var role: String
            var groups: [String]?
        }

        var users: [User]
    }

    struct Groups: Decodable {
        struct Group: Decodable {
            var name: String
            var devices: Int64
            var readers: Int64
        }

        var groups: [Group]
    }

    struct NewLink: Decodable {
        var path: String
    }

    struct Links: Decodable {
        struct Link: Decodable {
            var id: Int64
            var expires: String
            var author: String
        }

        var links: [Link]
    }

    struct Claim: Decodable {
        var code: String
    }

    struct Claims: Decodable {
        struct Claim: Decodable {
            var id: Int64
            var expires: String
            var uses: Int64
            var commands: Commands?
        }

        /// What the code asks to be allowed by a vehicle.
        struct Commands: Decodable {
            var allow: [String]?
            var settings: [String]?
        }

        var claims: [Claim]
    }

    struct Command: Decodable {
        var id: String
        var command: String
        var state: String
        var created: String
    }

    struct Commands: Decodable {
        var commands: [Command]
    }

    struct Clock: Decodable {
        var time: String
        var confirmed: String
        var isAhead: Bool

        private enum CodingKeys: String, CodingKey {
            case time, confirmed
            case isAhead = "is_ahead"
        }
    }

    struct Facts: Decodable {
        var program: String
        var schema: Int
        var size: Int64
        var durable: Bool
        var devices: Int64
        var users: Int64
        var passwords: Int64
        var signs: Bool
        var removals: Int64
        var damage: String?
        var loss: String?
        /// Sentences about PostgreSQL servers that answer and are not used.
        var strays: [String]?
        /// nil: there is none.
        var citus: Citus?
        /// Seconds by which the standby from which lists are read is behind; nil: there is none.
        var copyLag: Int64?
        /// Why it is of no use; nil: it is, or there is none.
        var copyTrouble: String?
        /// A map file is served; nil: there is none.
        var map: Bool?
        /// Why the map file is of no use; nil: it is, or there is none.
        var mapTrouble: String?
        var retention: Int?
        var clock: Clock
        var alerts: Alerts
        /// nil of an earlier version.
        var forwards: [Forward]?

        /// A target to which batches are forwarded.
        struct Forward: Decodable {
            var name: String
            /// If not, something waits for it all the same.
            var isConfigured: Bool
            /// Batches, with so many rows and bytes.
            var waiting: Int64
            var rows: Int64
            var bytes: Int64
            /// When the oldest was received.
            var since: String?
            var forwarded: Int64
            var dropped: Int64
            /// Batches that wait since it takes others and not them, and why.
            var refused: Int64
            var refusal: String?
            /// How much of what may wait does.
            var fullPercent: Int64?
            /// What keeps it from taking anything.
            var trouble: String?
            var troubleSince: String?

            private enum CodingKeys: String, CodingKey {
                case name, waiting, rows, bytes, since, forwarded, dropped, refused, refusal, trouble
                case isConfigured = "is_configured"
                case fullPercent = "full_percent"
                case troubleSince = "trouble_since"
            }
        }

        /// What is distributed over several PostgreSQL.
        struct Citus: Decodable {
            var summary: String
            var troubles: [String]
        }

        /// What is sent to webhooks and by mail.
        struct Alerts: Decodable {
            struct Waiting: Decodable {
                var waiting: Int64
                /// When the oldest of them was added.
                var since: String?
            }

            /// Rules that ask for mail.
            var mailRules: Int64
            var mailServer: Bool
            var mailTrouble: String?
            /// Something is to be sent to another machine, which the service may not reach.
            var isShutIn: Bool
            /// Given up within the last day, and why.
            var failed: Int64
            var reason: String?
            var webhooks: Waiting
            var mails: Waiting

            private enum CodingKeys: String, CodingKey {
                case failed, reason, webhooks, mails
                case mailRules = "mail_rules"
                case mailServer = "mail_server"
                case mailTrouble = "mail_trouble"
                case isShutIn = "is_shut_in"
            }
        }

        private enum CodingKeys: String, CodingKey {
            case program, schema, size, durable, devices, users, passwords, signs, removals, damage, loss,
                clock, map, alerts, strays, citus, forwards
            case copyLag = "copy_lag_seconds"
            case copyTrouble = "copy_trouble"
            case mapTrouble = "map_trouble"
            case retention = "retention_days"
        }
    }

    private struct Problem: Decodable {
        var detail: String
    }

    static func read<Value: Decodable>(_ type: Value.Type, _ bytes: ByteBuffer) throws -> Value {
        try JSONDecoder().decode(type, from: bytes.withUnsafeReadableBytes { Data($0) })
    }

    static func detail(_ bytes: ByteBuffer) -> String? {
        (try? read(Problem.self, bytes))?.detail
    }
}
