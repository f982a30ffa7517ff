package import Linux

/// How a connection to gpsd is begun. Nothing in it blocks.
package struct Dialler {
    /// Begins a connection.
    package typealias Dial = () throws(SystemError) -> FileDescriptor

    /// What is known of a host.
    package enum Lookup {
        /// Addresses of the host, in the order in which they are tried.
        case known([Dial])
        /// Somebody has been asked.
        case asked(HostLookup)
    }

    /// Where a host is.
    let lookUp: (_ host: String, _ port: UInt16) throws(SystemError) -> Lookup

    package init(lookUp: @escaping (_ host: String, _ port: UInt16) throws(SystemError) -> Lookup) {
        self.lookUp = lookUp
    }

    /// Over the network.
    package static var network: Dialler { network { Address.resolve(host: $0, port: $1) } }

    /// Over the network.
    ///
    /// - Parameter resolve: where a host is that is no address in digits; may block.
    package static func network(
        resolve: @escaping @Sendable (_ host: String, _ port: UInt16) -> HostLookup.Answer
    ) -> Dialler {
        Dialler { (host, port) throws(SystemError) in
            if let address = Address.inDigits(host: host, port: port) { return .known(dials(address)) }
            return .asked(try HostLookup { resolve(host, port) })
        }
    }

    static func dials(_ addresses: [Address]) -> [Dial] {
        // As `map`, the compiler of Swift 6.3 crashes over it.
        var dials: [Dial] = []
        for address in addresses { dials.append(address.connection) }
        return dials
    }
}
