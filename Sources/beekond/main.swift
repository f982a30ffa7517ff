internal import Daemon
internal import Glibc
internal import Linux

/// What the command line requests.
enum Request {
    case run(Daemon.Options), check(Daemon.Options), version, help
    case misuse(String)
}

let help = """
    Usage: beekond [--config FILE] [--state-dir DIR] [--socket PATH] [--check] [--version]

    Reads fixes from gpsd, stores those that pass the gate, and uploads them. Runs in the foreground.

      --config FILE    configuration (default /etc/beekond/beekond.toml, which may be missing)
      --state-dir DIR  directory of the database (default $STATE_DIRECTORY, else /var/lib/beekond)
      --socket PATH    control socket (default $RUNTIME_DIRECTORY/beekond.sock, else /run/beekond/beekond.sock)
      --check          check the configuration, and exit
      --version        print the version, and exit
      --help           print this, and exit

    Control it with beekonctl. Set BEEKOND_LOG=debug in the environment for detailed logs.
    Example: beekond --config ./beekond.toml --state-dir ./state --socket ./beekond.sock

    """

/// Four options do not justify a parser library, which would cost the daemon 5 MB of memory.
func parse(_ arguments: [String]) -> Request {
    var options = Daemon.Options { getenv($0).map { String(cString: $0) } }
    var isCheck = false
    var rest = arguments.dropFirst()
    while let argument = rest.popFirst() {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        switch parts[0] {
        case "--check" where parts.count == 1: isCheck = true
        case "--version" where parts.count == 1: return .version
        case "--help" where parts.count == 1, "-h" where parts.count == 1: return .help
        case "--config", "--state-dir", "--socket":
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                return .misuse("\(parts[0]) needs a value")
            }
            switch parts[0] {
            case "--config": options.configuration = value
            case "--state-dir": options.stateDirectory = value
            default: options.socket = value
            }
        default: return .misuse("there is no option \(argument)")
        }
    }
    return isCheck ? .check(options) : .run(options)
}

func main() -> Int32 {
    switch parse(Arguments.all) {
    case .run(let options): return Daemon.run(options)
    case .check(let options): return Daemon.check(options)
    case .version:
        print("beekond " + Daemon.version)
        return EX_OK
    case .help:
        print(help, terminator: "")
        return EX_OK
    case .misuse(let what):
        Daemon.complain(what + "; see beekond --help")
        return EX_USAGE
    }
}

exit(main())
