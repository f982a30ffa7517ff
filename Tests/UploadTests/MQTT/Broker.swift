import Glibc
import Support
import Synchronization

@testable import Upload

/// A real mosquitto on a port of its own, with its files in a temporary directory.
final class Broker: Sendable {
    let port: UInt16
    let directory: TemporaryDirectory
    /// Holds the port while no broker does: Linux lets another socket with SO_REUSEADDR listen there.
    private let reservation: Int32
    private let process = Mutex<pid_t?>(nil)

    /// - Parameters:
    ///   - settings: lines of its configuration, after those of the listener.
    ///   - files: by name; `{}` in a setting stands for the directory they are in.
    init(
        _ settings: [String] = ["allow_anonymous true"], files: [String: String] = [:],
        in folder: TemporaryDirectory? = nil
    ) throws {
        directory = try folder ?? TemporaryDirectory()
        (reservation, port) = try Self.reservePort()
        for (name, text) in files { try directory.write(name, Array(text.utf8)) }
        // As root it would become another user, who may not enter the directory.
        let lines = ["user root", "log_dest file {}/log", "listener \(port) 127.0.0.1"] + settings
        let text = lines.joined(separator: "\n") + "\n"
        try directory.write("mosquitto.conf", Array(text.replacing("{}", with: directory.path).utf8))
        try start()
    }

    deinit {
        kill()
        close(reservation)
    }

    /// Returns when it accepts connections.
    func start() throws {
        try process.withLock { process in
            process = try spawn(
                ["mosquitto", "-c", directory.file("mosquitto.conf")], output: directory.file("output"))
        }
        let isUp = wait(upTo: 60) {
            let raw = connectToLoopback(port)
            if raw >= 0 { close(raw) }
            return raw >= 0 || pause()
        }
        guard isUp else { throw SetUpFailed(operation: "mosquitto, see \(directory.path)", code: ETIMEDOUT) }
    }

    /// SIGKILL.
    func kill() {
        process.withLock { process in
            guard let id = process else { return }
            Glibc.kill(id, SIGKILL)
            waitpid(id, nil, 0)
            process = nil
        }
    }

    /// What it has logged.
    var log: String { (try? directory.read("log")).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// Anonymous, without TLS, and without a will.
    func options(
        _ version: String = "mqtt", timeout: Double = 30, username: String? = nil, password: String? = nil
    ) -> MQTTOptions {
        MQTTOptions(
            url: "\(version)://127.0.0.1:\(port)", clientID: "beekond-test", username: username,
            password: password,
            timeout: timeout)
    }

    static func reservePort() throws -> (Int32, UInt16) {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var reuse: Int32 = 1
        setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, size) == 0 && getsockname(raw, $0, &size) == 0
            }
        }
        guard isBound else { throw SetUpFailed(operation: "bind", code: errno) }
        return (raw, UInt16(bigEndian: address.sin_port))
    }
}

/// Starts a program, found in PATH or where administrators have theirs.
func spawn(_ words: [String], output: String) throws -> pid_t {
    let places = ["/usr/local/sbin/", "/usr/sbin/"].map { $0 + words[0] }
    let program: String = places.first { access($0, X_OK) == 0 } ?? words[0]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&files, 1, 2)
    var child = pid_t()
    let code = posix_spawnp(&child, program, &files, nil, &arguments, environ)
    guard code == 0 else { throw SetUpFailed(operation: words[0], code: code) }
    return child
}

/// Runs a program to its end.
func run(_ words: [String], in directory: TemporaryDirectory) throws {
    var status: Int32 = 0
    waitpid(try spawn(words, output: directory.file("output")), &status, 0)
    guard status == 0 else {
        let output = try String(decoding: directory.read("output"), as: UTF8.self)
        throw SetUpFailed(operation: words.joined(separator: " ") + "\n" + output, code: status)
    }
}

func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return address
}

/// - Returns: a connected socket, or a negative number.
func connectToLoopback(_ port: UInt16) -> Int32 {
    let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port)
    let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
    if isConnected { return raw }
    close(raw)
    return -1
}
