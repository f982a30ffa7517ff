import ArgumentParser
import ControlTool
import Doctor
import Glibc

struct EnrollCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enroll",
        abstract: "Make this vehicle known to a beekon-server, and write its configuration.",
        discussion: """
            CODE comes from beekon-server claim add, or from the page. Without it beekonctl asks; - reads it from \
            standard input. URL is the address of the server: https, or http on this machine.

            Writes /etc/beekond/beekond.d/50-server.toml, with the tokens, and makes beekond read it. Shows first what \
            the server may ask of this vehicle. Cut off at any point, it can be run again with the same code. Once the file \
            is there it only tests it, and changes nothing. Needs root.

            EXAMPLES:
              sudo beekonctl enroll https://fleet.example.org
              sudo beekonctl enroll https://fleet.example.org --code-file code.txt --name van-2
              beekonctl enroll --print https://fleet.example.org CODE > beekond-enroll.service
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

    @Option(help: "What the server may ask: usual, all (also start, stop, set_motion) or none.")
    var commands = "usual"

    @Option(help: "Add the server as a further destination of this name.")
    var destination: String?

    @Flag(help: "Take the place of the server that is configured; its file is kept as FILE.before.")
    var replace = false

    @Flag(help: "Print a unit of systemd that does this at the first start; ask and write nothing.")
    var print = false

    @Option(
        help: "The configuration of beekond (default: the one it runs with, else /etc/beekond/beekond.toml).",
        completion: .file(extensions: ["toml"]))
    var config: String?

    @Option(
        help: "Its state directory (default: the one it says, else /var/lib/beekond).", completion: .directory
    )
    var stateDir: String?

    /// Codes of beekon-server are shorter.
    private static let longestCode = 100

    func run() throws {
        var isGood = true
        try common.run {
            var request = try Enrollment.Request(
                url: url, destination: destination, commands: commands, socket: common.path)
            if print { return try printUnit(request) }
            guard geteuid() == 0 || config != nil else {
                throw Failure("only root may do this: sudo beekonctl enroll \(url)", exitCode: 77)
            }
            (request.name, request.replaces) = (try name ?? Self.hostName(), replace)
            (request.configuration, request.stateDirectory) = (config, stateDir)
            isGood = try enroll(Enrollment(request))
        }
        if !isGood { throw ExitCode(1) }
    }

    private func printUnit(_ request: Enrollment.Request) throws {
        guard name == nil, !replace, config == nil, stateDir == nil, !common.json else {
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
                to: destination ?? "main", socket: common.path, configuration: config)
            let result = try trial.run()
            try common.print(
                result,
                text: [
                    "\(file) is there: nothing is changed. To enrol anew, remove it first.", words,
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
        guard code == nil || codeFile == nil else {
            throw Failure("give the code once: as CODE or with --code-file", exitCode: 64)
        }
        var text = code
        if let path = codeFile ?? (code == "-" ? "-" : nil) {
            text = String(decoding: try Input.read(path, limit: 4096), as: UTF8.self)
        } else if text == nil, mayAsk, isatty(STDIN_FILENO) == 1 {
            let question = Array("Code: ".utf8)
            _ = write(STDERR_FILENO, question, question.count)
            text = readLine()
        }
        guard let text else {
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
