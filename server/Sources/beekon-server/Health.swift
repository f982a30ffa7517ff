import API
import ArgumentParser
import Glibc
import NIOCore

/// Whether a server that runs here can do its work, for containers and monitors.
struct Health: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Ask the running server whether it is ready. Exit code 1 when it is not.",
        discussion:
            "It asks over the network, as a vehicle would, at the address that the server listens on by the configuration."
    )

    @OptionGroup var database: DatabaseOption

    @Option(
        help: ArgumentHelp(
            "Where the server listens. (Environment: BEEKON_SERVER_LISTEN)", valueName: "host:port"))
    var listen: String?

    @Option(help: ArgumentHelp("Wait for the whole answer for so long.", valueName: "seconds"))
    var timeout: Int = 5

    func validate() throws {
        guard (1...60).contains(timeout) else { throw ValidationError("--timeout is within 1…60 seconds.") }
        if let listen, Serve.address(listen) == nil {
            throw ValidationError("--listen \(Serve.addressRule).")
        }
    }

    func run() async throws {
        let place = try place()
        guard case .network(let host, let port) = Serve.address(place) else {
            throw Failure("BEEKON_SERVER_LISTEN \(Serve.addressRule)")
        }
        let request = HealthRequest(host: host, port: port, seconds: timeout)
        let answer = try request.send()
        guard answer.status == 200 else {
            let reason = Answer.detail(answer.body) ?? "it answers \(answer.status)"
            throw Failure("not ready: \(reason)")
        }
        print("ready: \(request.target)")
    }

    /// The address as `Serve` reads it; the file counts where neither option nor environment names one.
    private func place() throws -> String {
        if let named = listen ?? Environment["BEEKON_SERVER_LISTEN"] { return named }
        return try database.settings().listen ?? Serve.usualAddress
    }
}

/// One `GET /health/ready`, with an end.
struct HealthRequest {
    let host: String
    let port: Int
    /// From the first byte sent to the last one read.
    let seconds: Int

    /// The answer is some hundred bytes.
    private static let longest = 16_384

    init(host: String, port: Int, seconds: Int) {
        // What listens on all addresses is asked on this machine's own.
        switch host {
        case "0.0.0.0": self.host = "127.0.0.1"
        case "::": self.host = "::1"
        default: self.host = host
        }
        self.port = port
        self.seconds = seconds
    }

    var target: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// - Throws: a `Failure` when there is no answer in time.
    func send() throws -> (status: Int, body: ByteBuffer) {
        let end = ContinuousClock.now + .seconds(seconds)
        let descriptor = try connect()
        defer { close(descriptor) }
        let request = Array(
            "GET /health/ready HTTP/1.1\r\nHost: \(target)\r\nConnection: close\r\n\r\n".utf8)
        guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw Failure("not ready: \(target) closed the connection")
        }
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= Self.longest {
            let count = read(descriptor, &room, room.count)
            if count == 0 { break }
            guard count > 0, ContinuousClock.now < end else {
                throw Failure("not ready: no answer from \(target) within \(seconds) s")
            }
            bytes += room[..<count]
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix("HTTP/1."), let status = Int(text.dropFirst(9).prefix(3)),
            let split = text.firstRange(of: "\r\n\r\n")
        else { throw Failure("not ready: what listens at \(target) is no beekon-server") }
        return (status, ByteBuffer(string: String(text[split.upperBound...])))
    }

    private func connect() throws -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, "\(port)", &hints, &found)
        guard code == 0, let first = found else {
            throw Failure("not ready: \(host): \(String(cString: gai_strerror(code)))")
        }
        defer { freeaddrinfo(first) }
        var reason: Int32 = 0
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let address = next?.pointee {
            let descriptor = socket(
                address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), address.ai_protocol)
            guard descriptor >= 0 else { throw Failure("no socket: \(String(cString: strerror(errno)))") }
            // They hold for connect as well.
            var limit = timeval(tv_sec: seconds, tv_usec: 0)
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
            }
            if Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return descriptor }
            reason = errno
            close(descriptor)
            next = address.ai_next
        }
        let why =
            reason == EINPROGRESS ? "no answer within \(seconds) s" : String(cString: strerror(reason))
        throw Failure("not ready: nothing can be asked at \(target): \(why). Does the server run?")
    }
}
