internal import Glibc
package import Linux
internal import Synchronization

/// The addresses of a host by its name. The resolver may take half a minute, so it is asked on a thread that is there for this
/// question only.
package final class HostLookup: Sendable {
    package typealias Answer = Result<[Address], SystemError>

    private let answer = Mutex<Answer?>(nil)
    private let arrived: Wakeup

    /// Begins to ask.
    ///
    /// - Parameter resolve: what is asked, which may block.
    package init(_ resolve: @escaping @Sendable () -> Answer) throws(SystemError) {
        arrived = try Wakeup()
        try startThread(named: "resolver") { [self] in
            let found = resolve()
            answer.withLock { $0 = found }
            arrived.signal()
        }
    }

    /// Readable once there is an answer.
    package var descriptor: Int32 { arrived.descriptor }

    /// nil until the resolver has answered.
    package var result: Answer? { answer.withLock { $0 } }
}

/// Where gpsd can be reached.
package struct Address: Sendable {
    /// What is tried of a name that has more, in the resolver's order.
    private static let most = 16

    private let family: Int32
    private let description: String
    private let storage: sockaddr_storage
    private let length: socklen_t

    private init(_ info: addrinfo, description: String) {
        family = info.ai_family
        length = info.ai_addrlen
        self.description = description
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { target in
            let count = min(target.count, Int(info.ai_addrlen))
            if let source = info.ai_addr {
                target.copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
            }
        }
        self.storage = storage
    }

    /// Begins a connection that does not block.
    package func connection() throws(SystemError) -> FileDescriptor {
        let descriptor = FileDescriptor(
            owning: socket(
                family,
                Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
                0))
        guard descriptor.raw >= 0 else { throw SystemError("socket") }
        let result = withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor.raw, $0, length) }
        }
        if result != 0, errno != EINPROGRESS { throw SystemError("connect to " + description) }
        return descriptor
    }

    /// The addresses of a host. Blocks as long as the resolver takes, but not for digits.
    package static func resolve(host: String, port: UInt16) -> HostLookup.Answer {
        find(host: host, port: port, flags: 0)
    }

    /// The address that a host in digits is; nil for a name.
    package static func inDigits(host: String, port: UInt16) -> [Address]? {
        try? find(host: host, port: port, flags: Int32(AI_NUMERICHOST)).get()
    }

    private static func find(host: String, port: UInt16, flags: Int32) -> HostLookup.Answer {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            return .failure(
                SystemError("look up \(host): " + String(cString: gai_strerror(code)), code: EHOSTUNREACH))
        }
        defer { freeaddrinfo(list) }
        var found: [Address] = []
        var node = list
        while let next = node, found.count < most {
            found.append(Address(next.pointee, description: "\(host):\(port)"))
            node = next.pointee.ai_next
        }
        return .success(found)
    }
}
