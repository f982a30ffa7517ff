import Forwards
import Glibc
import ServerStore
import TOML

/// What a configuration file says, as far as it says something. The command line and the environment go before it.
struct Settings: Equatable {
    /// An SQLite file, or `postgres://…`.
    var database: String?
    /// A standby of it, `postgres://…`.
    var readDatabase: String?
    /// Host and port.
    var listen: String?
    /// Days for which locations are kept.
    var retention: Int?
    /// Days for which ids of batches are remembered.
    var batchDays: Int?
    /// Days of a partition of PostgreSQL.
    var partitionDays: Int?
    /// Connections at once.
    var connections: Int?
    /// Path of a private key.
    var signingKey: String?
    /// Folder of the page's files, or `none`.
    var page: String?
    /// Path of an MBTiles file.
    var map: String?
    /// Address of tiles, with `{z}`, `{x}` and `{y}`.
    var tiles: String?
    /// Whom the maps name for their tiles.
    var tilesAttribution: String?
    /// Where mail is handed in: `smtp://…` or `smtps://…`.
    var smtp: String?
    /// The sender of mail.
    var smtpFrom: String?
    var smtpUser: String?
    /// Path of a file with the password.
    var smtpPasswordFile: String?
    /// Path of a file with authorities that are believed.
    var smtpCAFile: String?
    /// A mail server elsewhere may be spoken to without encryption.
    var smtpUnencrypted: Bool?
    /// Address of the page as people reach it.
    var publicURL: String?
    /// Where batches are forwarded to.
    var forwards: [ForwardTarget] = []

    /// Where the package puts the file.
    static let usual = "/etc/beekon-server/beekon-server.toml"
    static let retentionDays = 1...36_500
    static let batchDays = 1...36_500
    static let connectionCount = 1...100_000
    private static let names = [
        "database", "read_database", "listen", "retention_days", "batch_days", "partition_days",
        "connections", "signing_key", "page", "map",
        "tiles", "tiles_attribution", "smtp", "smtp_from", "smtp_user", "smtp_password_file", "smtp_ca_file",
        "smtp_unencrypted", "public_url", "forward",
    ]
    /// Bytes; a few settings and what is said about them.
    private static let longest = 65_536

    init() {}

    /// - Throws: a `Failure` with a line for each mistake.
    init(file path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw Failure("cannot open \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 8192)
        while bytes.count <= Self.longest {
            let count = Glibc.read(descriptor, &room, room.count)
            guard count >= 0 else {
                throw Failure("cannot read \(path): \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            bytes += room[..<count]
        }
        guard bytes.count <= Self.longest else {
            throw Failure("\(path) has more than \(Self.longest) bytes: is it the right file?")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure("\(path) is not UTF-8")
        }
        let problems = read(text)
        guard problems.isEmpty else {
            throw Failure(
                problems.sorted { $0.line < $1.line }.map { "\(path):\($0.line): \($0.message)" }
                    .joined(separator: "\n"))
        }
    }

    private mutating func read(_ text: String) -> [(line: Int, message: String)] {
        let document = TOMLReader.read(text)
        var problems = document.problems.map { (line: $0.line, message: $0.message) }
        for name in document.root.names {
            guard let node = document.root[name] else { continue }
            if name == "forward" {
                problems += ForwardOption.read(node, into: &forwards)
                continue
            }
            if let complaint = take(name, node) { problems.append((node.line, complaint)) }
        }
        return problems
    }

    /// - Returns: what is wrong with it.
    private mutating func take(_ name: String, _ node: TOMLNode) -> String? {
        switch name {
        case "database": return Self.text(name, node, into: &database)
        case "read_database": return Self.text(name, node, into: &readDatabase)
        case "listen":
            if let complaint = Self.text(name, node, into: &listen) { return complaint }
            return listen.flatMap { Serve.address($0) == nil ? "listen \(Serve.addressRule)" : nil }
        case "retention_days": return Self.number(name, node, Self.retentionDays, into: &retention)
        case "batch_days": return Self.number(name, node, Self.batchDays, into: &batchDays)
        case "partition_days":
            if let complaint = Self.number(name, node, 1...7, into: &partitionDays) { return complaint }
            return partitionDays.flatMap { Store.partitionDays.contains($0) ? nil : "\(name) is 1 or 7" }
        case "connections": return Self.number(name, node, Self.connectionCount, into: &connections)
        case "signing_key": return Self.text(name, node, into: &signingKey)
        case "page": return Self.text(name, node, into: &page)
        case "map": return Self.text(name, node, into: &map)
        case "tiles": return Self.text(name, node, into: &tiles)
        case "tiles_attribution": return Self.text(name, node, into: &tilesAttribution)
        case "smtp": return Self.text(name, node, into: &smtp)
        case "smtp_from": return Self.text(name, node, into: &smtpFrom)
        case "smtp_user": return Self.text(name, node, into: &smtpUser)
        case "smtp_password_file": return Self.text(name, node, into: &smtpPasswordFile)
        case "smtp_ca_file": return Self.text(name, node, into: &smtpCAFile)
        case "smtp_unencrypted":
            guard case .value(.bool(let isSet)) = node.content else { return "\(name) is true or false" }
            smtpUnencrypted = isSet
            return nil
        case "public_url": return Self.text(name, node, into: &publicURL)
        default:
            return "there is no setting \(name.printable); there are " + Self.names.joined(separator: ", ")
        }
    }

    static func text(_ name: String, _ node: TOMLNode, into value: inout String?) -> String? {
        guard case .value(.string(let text)) = node.content else {
            return "\(name) is a text in quotes, found \(node.typeName)"
        }
        guard !text.isEmpty, !text.utf8.contains(0) else { return "\(name) is empty" }
        value = text
        return nil
    }

    static func number(
        _ name: String, _ node: TOMLNode, _ range: ClosedRange<Int>, into value: inout Int?
    ) -> String? {
        guard case .value(.integer(let number)) = node.content, range.contains(number) else {
            return "\(name) is a whole number within \(range.lowerBound)…\(range.upperBound)"
        }
        value = number
        return nil
    }
}
