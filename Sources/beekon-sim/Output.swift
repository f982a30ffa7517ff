import Glibc

/// A destination for the sentences of an epoch.
protocol Output {
    mutating func send(_ text: String) throws
}

/// An error as one sentence that says what to do, with an exit status from sysexits.h.
struct Failure: Error {
    static let noHost: Int32 = 68
    static let osError: Int32 = 71
    static let cannotCreate: Int32 = 73
    static let ioError: Int32 = 74

    var message: String
    var exitCode: Int32

    init(_ exitCode: Int32, _ message: String) {
        self.exitCode = exitCode
        self.message = message
    }

    static var reason: String { String(cString: strerror(errno)) }
}

/// Writes everything; on failure returns false with the reason in errno.
@discardableResult
func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { buffer in
        var rest = buffer[...]
        while !rest.isEmpty {
            let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

struct FileOutput: Output {
    private let descriptor: Int32
    private let path: String

    init(path: String) throws {
        self.path = path == "-" ? "standard output" : path
        guard path != "-" else {
            descriptor = STDOUT_FILENO
            return
        }
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw Failure(
                Failure.cannotCreate,
                "cannot create \(path): \(Failure.reason). Give --file a path in a directory you may write to."
            )
        }
    }

    mutating func send(_ text: String) throws {
        guard writeAll(descriptor, Array(text.utf8)) else {
            throw Failure(
                Failure.ioError,
                "cannot write to \(path): \(Failure.reason). Make room or choose another path.")
        }
    }
}

/// One datagram per epoch. A missing listener is not an error: a receiver sends whether or not anyone listens.
struct UDPOutput: Output {
    private let descriptor: Int32
    private let name: String

    init(host: String, port: UInt16) throws {
        name = "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &found)
        guard code == 0, let address = found else {
            throw Failure(
                Failure.noHost,
                "cannot find \(host): \(String(cString: gai_strerror(code))). Give --udp an address such as "
                    + "127.0.0.1:2951.")
        }
        defer { freeaddrinfo(found) }
        descriptor = socket(
            address.pointee.ai_family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0, connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0
        else {
            throw Failure(
                Failure.osError,
                "cannot reach \(name): \(Failure.reason). Give --udp an address this machine has a route to.")
        }
    }

    mutating func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard Glibc.send(descriptor, bytes, bytes.count, 0) < 0 else { return }
        switch errno {
        case ECONNREFUSED, EAGAIN, ENOBUFS, EINTR, ENETUNREACH, EHOSTUNREACH, ENETDOWN:
            // ECONNREFUSED refers to the previous datagram. A lost datagram is a lost epoch, as on any radio link.
            return
        default:
            throw Failure(
                Failure.ioError, "cannot send to \(name): \(Failure.reason). Check the address and try again."
            )
        }
    }
}
