import ArgumentParser
import ControlProtocol
import ControlTool
import Doctor
import Glibc

struct EnrollCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroll",
        abstract: "Make this vehicle known to a server, and write its configuration.",
        discussion: """
            CODE comes from beekon-server claim add, or from the page. Without it beekonctl asks; - reads it from \
            standard input. URL is the address of the server: https, or http on this machine.

            Writes /etc/beekond/beekond.d/50-server.toml, with the tokens, and makes beekond read it. Shows first what \
            the server may ask of this vehicle. Cut off at any point, it can be run again with the same code. Once the file \
            is there it only tests it, and changes nothing. Needs root.

            With --format the server is software of others, which is a destination of its own then, in \
            /etc/beekond/beekond.d/50-NAME.toml: osmand (Traccar), owntracks (its Recorder, or a broker with mqtts://), \
            overland (Dawarich) or home-assistant (the broker that it uses). CODE is its password or API key; --name is the vehicle's name there, which Traccar calls \
            the Identifier.

            EXAMPLES:
              sudo beekonctl enroll https://fleet.example.org
              sudo beekonctl enroll https://fleet.example.org --code-file code.txt --name van-2
              beekonctl enroll --print https://fleet.example.org CODE > beekond-enroll.service
              sudo beekonctl enroll --format osmand https://traccar.example.org/osmand/ --name van1
              sudo beekonctl enroll --format owntracks mqtts://broker.example.org --user fleet --name van1
              sudo beekonctl enroll --format home-assistant mqtt://192.168.1.5 --allow-insecure-http --user van --name van1
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The address of the server.")
    var url: String

    @Argument(help: "The code; - for standard input.")
    var code: String?

    @Option(help: "A file with the code.", completion: .file())
    var codeFile: String?

    @Option(help: "The name of this vehicle at the server (default: the host name).")
    var name: String?

    @Option(help: "What it is, if no beekon-server: osmand, owntracks, overland or home-assistant.")
    var format: DestinationForm.Format?

    @Option(help: "With --format owntracks or home-assistant: the login there.")
    var user: String?

    @Flag(help: "With --format: the address may be http or mqtt, which others can read on its way.")
    var allowInsecureHttp = false

    @Option(help: "What the server may ask: usual, all (also start, stop, set_motion) or none.")
    var commands = "usual"

    @Option(help: "Add the server as a further destination of this name (with --format: that of the format).")
    var destination: String?

    @Flag(help: "Take the place of another server that is configured; its file is kept as FILE.before.")
    var replace = false

    @Flag(help: "Print a unit of systemd that does this at the first start; ask and write nothing.")
    var print = false

    @OptionGroup var configuration: ConfigurationOption

    @Option(
        help: "Its state directory (default: the one it says, else /var/lib/beekond).", completion: .directory
    )
    var stateDir: String?

    /// Codes of beekon-server are shorter.
    private static let longestCode = 100
    private static let longestSecret = 1000

    private var live: LiveConfiguration {
        LiveConfiguration(socket: common.path, path: configuration.path, stateDirectory: stateDir)
    }

    func run() throws {
        var code: Int32 = 0
        try common.run {
            guard print || geteuid() == 0 || configuration.path != nil else {
                throw Failure("only root may do this: sudo beekonctl enroll \(url)", exitCode: 77)
            }
            if let format { return code = try add(format) }
            guard user == nil, !allowInsecureHttp else {
                throw Failure("--user and --allow-insecure-http belong to --format", exitCode: 64)
            }
            var request = try Enrollment.Request(url: url, destination: destination, commands: commands)
            if print { return try printUnit(request) }
            (request.name, request.replaces) = (try name ?? Self.hostName(), replace)
            code = try enroll(Enrollment(request, in: live)) ? 0 : 1
        }
        if code != 0 { throw ExitCode(code) }
    }

    /// Adds a destination that is software of others.
    ///
    /// - Returns: the exit code.
    private func add(_ format: DestinationForm.Format) throws -> Int32 {
        guard !print, commands == "usual" else {
            throw Failure("--print and --commands are for a beekon-server: leave them out", exitCode: 64)
        }
        let setup = try DestinationSetup(destination ?? format.rawValue, in: live)
        // Nobody is asked for a secret in vain.
        try setup.check(replaces: replace)
        let secret = try readSecret(of: format)
        let form = DestinationForm(
            format, url: url, device: try name ?? Self.hostName(), user: user, secret: secret,
            isInsecure: allowInsecureHttp)
        let result = try setup.run(form, replaces: replace)
        try common.print(result, text: result.lines.map { Text.safe($0) })
        guard result.isInForce, !common.json else { return 0 }
        // What is there of it goes at once, and shows whether it arrives.
        var client = try common.connect()
        let sync = try client.call(
            Wire.Sync.self, .init(wait: true, destination: result.destination), timeoutSeconds: 60)
        let words =
            sync.outcome == "nothing_pending"
            ? "Nothing waits for it: it gets what is stored from now on. beekonctl start tracks this vehicle."
            : SyncOutcome.text(sync, of: result.destination, url: url)
        try common.print(sync, text: [words])
        return SyncOutcome.exitCode(sync.outcome)
    }

    private func readSecret(of format: DestinationForm.Format) throws -> String? {
        guard let word = format.secret else {
            guard code == nil, codeFile == nil, user == nil else {
                throw Failure("\(format.rawValue) has neither login nor secret: leave them out", exitCode: 64)
            }
            return nil
        }
        guard format.hasUser else {
            guard user == nil else {
                throw Failure("\(format.rawValue) has no login: leave --user out", exitCode: 64)
            }
            return try readSecret(word)
        }
        guard user != nil else {
            guard code == nil, codeFile == nil else {
                throw Failure("a password needs a login: add --user NAME", exitCode: 64)
            }
            return nil
        }
        return try readSecret(word)
    }

    /// - Parameter word: what it is, for who is asked.
    private func readSecret(_ word: String) throws -> String {
        guard let line = try readGiven(orAsk: word, isShown: false) else {
            throw Failure(
                "give the \(word) after the address, with --code-file, or on standard input with -",
                exitCode: 64)
        }
        guard (1...Self.longestSecret).contains(line.utf8.count) else {
            throw Failure("the \(word) has 1 to \(Self.longestSecret) bytes, on one line", exitCode: 64)
        }
        return line
    }

    private func printUnit(_ request: Enrollment.Request) throws {
        guard name == nil, !replace, configuration.path == nil, stateDir == nil, !common.json else {
            throw Failure(
                "--print is for an image that many vehicles boot: leave out --name, --replace, --config, --state-dir "
                    + "and --json", exitCode: 64)
        }
        var output = Output()
        output.add(FirstBoot.unit(request, code: try readCode(mayAsk: false)))
        try output.finish()
    }

    /// - Returns: whether the server takes what this vehicle sends.
    private func enroll(_ enrollment: Enrollment) throws -> Bool {
        if let file = try enrollment.earlier() {
            let words = enrollment.catchUp()
            let trial = try DestinationTrial(
                to: destination ?? "main", socket: common.path, configuration: configuration.path)
            let result = try trial.run()
            try common.print(
                result,
                text: [
                    "\(file) is there: nothing is changed. To enrol anew, move it away first: sudo mv \(file) \(file).before",
                    words,
                    result.text,
                ]
                .compactMap(\.self))
            // Its token is beekond's by now: that the server asks for one is the answer of a server that is there.
            return result.accepted || result.httpStatus == 401
        }
        // A refusal must not cost the operator a code.
        try enrollment.check()
        let result = try enrollment.run(code: readCode(mayAsk: true)) { lines in
            guard !common.json else { return }
            // What follows it may fail.
            try? common.print(lines, text: lines.map { Text.safe($0) })
        }
        try common.print(result, text: result.lines.map { Text.safe($0) })
        return result.accepted
    }

    private func readCode(mayAsk: Bool) throws -> String {
        guard let text = try readGiven(orAsk: mayAsk ? "Code" : nil, isShown: true) else {
            throw Failure(
                "give the code after the address, with --code-file, or on standard input with -", exitCode: 64
            )
        }
        let line = text.filter { !$0.isWhitespace }
        let isCode = line.utf8.allSatisfy { byte in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "-_".utf8.contains(byte)
        }
        guard (1...Self.longestCode).contains(line.utf8.count), isCode else {
            throw Failure("this is no code: beekon-server claim add prints one", exitCode: 64)
        }
        return line
    }

    /// What was given as CODE, by whichever way.
    ///
    /// - Parameters:
    ///   - question: what to ask for at a terminal; nil: nothing.
    ///   - isShown: whether what is typed can be seen.
    /// - Returns: its first line; nil where there is none.
    private func readGiven(orAsk question: String?, isShown: Bool) throws -> String? {
        guard code == nil || codeFile == nil else {
            throw Failure("give the code once: as CODE or with --code-file", exitCode: 64)
        }
        if let path = codeFile ?? (code == "-" ? "-" : nil) {
            let text = String(decoding: try Input.read(path, limit: 4096), as: UTF8.self)
            return text.split(whereSeparator: \.isNewline).first.map(String.init)
        }
        if let code { return code }
        guard let question, isatty(STDIN_FILENO) == 1 else { return nil }
        return Terminal.answer(to: question.prefix(1).uppercased() + question.dropFirst(), isShown: isShown)
    }

    private static func hostName() throws -> String {
        var bytes = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&bytes, bytes.count - 1) == 0
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isKnown, !name.isEmpty else {
            throw Failure("this machine has no name: give one with --name", exitCode: 64)
        }
        return name
    }
}

extension DestinationForm.Format: ExpressibleByArgument {}
