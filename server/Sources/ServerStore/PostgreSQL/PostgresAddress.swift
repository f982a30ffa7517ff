internal import CPostgres

/// The address of a database as libpq reads it, with its hosts apart: each of them is asked by itself.
struct PostgresAddress: Sendable {
    /// Where one PostgreSQL is. What is nil is left to libpq and its environment.
    struct Host: Hashable, Sendable, CustomStringConvertible {
        var name: String?
        var address: String?
        var port: String?

        /// For people to read; it holds no password.
        var description: String {
            guard let place = name ?? address else { return "its usual place" }
            return "\(place):\(port ?? "5432")"
        }
    }

    /// In the order of the address; at least one.
    let hosts: [Host]
    private let settings: [(name: String, value: String)]

    /// - Parameter text: a connection string or a URL, as psql takes it.
    /// - Throws: what libpq says of it.
    init(_ text: String) throws(StoreError) {
        var found: [(name: String, value: String)] = []
        var message: UnsafeMutablePointer<CChar>?
        guard let list = PQconninfoParse(text, &message) else {
            let reason = message.map { String(cString: $0) } ?? "out of memory"
            PQfreemem(message)
            throw StoreError(.failed, operation: "connect", message: PostgresSession.line(reason))
        }
        var next = list
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val {
                found.append((String(cString: keyword), String(cString: value)))
            }
            next += 1
        }
        PQconninfoFree(list)
        func values(_ name: String) -> [String]? {
            found.last { $0.name == name }.map {
                $0.value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
        }
        let (names, addresses, ports) = (values("host"), values("hostaddr"), values("port"))
        let count = max(names?.count ?? 0, addresses?.count ?? 0)
        // Lists that do not match are libpq's to refuse, and so is what the environment names.
        guard count > 0, names.map({ $0.count == count }) ?? true,
            addresses.map({ $0.count == count }) ?? true,
            ports.map({ [1, count].contains($0.count) }) ?? true
        else {
            hosts = [Host()]
            settings = found
            return
        }
        hosts = (0..<count).map { place in
            Host(
                name: names?[place], address: addresses?[place],
                port: ports.map { $0.count == 1 ? $0[0] : $0[place] })
        }
        // Which of the hosts it is to be is decided by what each says of itself.
        let own = ["host", "hostaddr", "port", "target_session_attrs", "load_balance_hosts"]
        settings = found.filter { !own.contains($0.name) }
    }

    /// What libpq is told to reach this host.
    func parameters(of host: Host) -> [(name: String, value: String)] {
        let place = [("host", host.name), ("hostaddr", host.address), ("port", host.port)]
        return settings + place.compactMap { name, value in value.map { (name: name, value: $0) } }
    }
}
