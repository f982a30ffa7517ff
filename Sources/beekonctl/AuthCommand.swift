import ArgumentParser
internal import Base
import ControlProtocol
import ControlTool
import Glibc

struct AuthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "auth",
        abstract: "Show the state of the upload token, or give beekond a new one.",
        subcommands: [AuthShowCommand.self, AuthSeedCommand.self])
}

struct AuthShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show whether the token is valid, when it expires, and what is wrong; never the token.",
        discussion: """
            EXAMPLES:
              beekonctl auth show
              beekonctl auth show --json | jq -r .state
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var destination: DestinationOption

    func run() throws {
        try common.run(for: destination.name) {
            var client = try common.connect()
            let found = try client.call(Wire.GetStatus.self, .init()).status.destination(
                named: destination.name)
            let text = AuthText.lines(found, clock: CommonOptions.clock, palette: CommonOptions.palette)
            try common.print(found.auth, text: text)
        }
    }
}

struct AuthSeedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed",
        abstract: "Give beekond new tokens; it stores them encrypted and tries them at once.",
        discussion: """
            FILE holds the access token on one line, or a JSON object as returned by a token endpoint: \
            access_token, refresh_token, expires_at (Unix seconds) or expires_in. Without FILE it is read from \
            standard input. Tokens are never taken from the command line, which every user can read.

            Requires root or group beekon-admin, and a [sync.auth] table in the configuration; for another \
            destination one of its own.

            EXAMPLES:
              beekonctl auth seed tokens.json
              curl -s -d @login.txt https://id.example.com/token | beekonctl auth seed
              beekonctl auth seed access.txt --refresh-token-file refresh.txt --expires-at 2026-06-15T12:00:00Z
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var destination: DestinationOption

    @Argument(help: "File with the tokens; - or nothing for standard input.")
    var file: String?

    @Option(help: "File with the refresh token on a single line.")
    var refreshTokenFile: String?

    @Option(parsing: .unconditional, help: "When the access token expires, in ISO-8601.")
    var expiresAt: String?

    func run() throws {
        try common.run(for: destination.name) {
            let clock = CommonOptions.clock
            var parameters = try TokenSeed.parse(try Self.read(file), now: clock.now)
            parameters.destination = destination.name
            if let refreshTokenFile {
                let text = String(decoding: try Self.read(refreshTokenFile), as: UTF8.self)
                parameters.refreshToken = try TokenSeed.token(text)
            }
            if let expiresAt {
                parameters.expiresAt = Int(
                    try TimeArgument.instant(expiresAt, now: clock.now, zone: clock.zone).milliseconds / 1000)
            }
            var client = try common.connect()
            if let name = destination.name {
                _ = try client.call(Wire.GetStatus.self, .init()).status.destination(named: name)
            }
            // A refresh in progress is completed first.
            let result = try client.call(Wire.SeedAuth.self, parameters, timeoutSeconds: 90)
            try common.print(result, text: ["accepted: beekonctl auth show shows the state"])
        }
    }

    private static func read(_ name: String?) throws -> [UInt8] {
        guard let name, name != "-" else {
            guard isatty(STDIN_FILENO) == 0 else {
                throw Failure("name a file with the tokens, or pipe them in", exitCode: 64)
            }
            return try readAll(STDIN_FILENO, name: "standard input")
        }
        let descriptor = open(name, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure("cannot open \(name): \(String(cString: strerror(errno)))", exitCode: 66)
        }
        defer { _ = close(descriptor) }
        return try readAll(descriptor, name: name)
    }

    private static func readAll(_ descriptor: Int32, name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Failure("cannot read \(name): \(String(cString: strerror(errno)))", exitCode: 74)
            }
            if count == 0 { return bytes }
            bytes += piece.prefix(count)
            guard bytes.count <= TokenSeed.limit else {
                throw Failure(
                    "\(name) has more than \(TokenSeed.limit) bytes: is it the right file?", exitCode: 65)
            }
        }
    }
}
