internal import CServerCrypto
package import ServerStore

/// Hashes passwords, one at a time, on a thread of its own: each takes 17 MB and a fifth of a second.
package final class PasswordMill: Sendable {
    private struct Order: Sendable {
        let password: String
        let salt: [UInt8]
        let reply: @Sendable (Result<[UInt8], StoreError>) -> Void
    }

    private struct Line: Sendable {
        var orders = PasswordLine<Order>()
        var isClosed = false

        mutating func take() -> Work? {
            if let order = orders.take() { return .hash(order) }
            return isClosed ? .end : nil
        }
    }

    private enum Work {
        case hash(Order)
        case end
    }

    private let line = Monitor(Line())
    private let thread: WorkerThread

    package init() {
        let line = line
        thread = WorkerThread {
            while case .hash(let order) = line.wait(until: { $0.take() }) {
                order.reply(Self.hash(order.password, order.salt))
            }
        }
    }

    /// - Parameters:
    ///   - name: whose turn it takes.
    ///   - isKnown: it is of somebody who waits among those who are known.
    /// - Throws: `.overloaded` when too many wait.
    package func hash(
        _ password: String, salt: [UInt8], of name: String, isKnown: Bool
    ) async throws(StoreError) -> [UInt8] {
        let result: Result<[UInt8], StoreError> = await withCheckedContinuation { continuation in
            let order = Order(password: password, salt: salt, reply: { continuation.resume(returning: $0) })
            let refused = line.change { line in
                line.isClosed ? order : line.orders.add(order, of: name, isKnown: isKnown)
            }
            refused?.reply(
                .failure(StoreError(.overloaded, operation: "password", message: "too many log in at once")))
        }
        return try result.get()
    }

    /// Does what waits, and ends the thread.
    package func close() {
        line.change { $0.isClosed = true }
        thread.join()
    }

    private static func hash(_ password: String, _ salt: [UInt8]) -> Result<[UInt8], StoreError> {
        var hash = [UInt8](repeating: 0, count: 32)
        let count = password.utf8.count
        let done = password.withCString { cservercrypto_scrypt($0, count, salt, salt.count, &hash) }
        guard done == 1 else {
            return .failure(StoreError(.overloaded, operation: "password", message: "there is no memory"))
        }
        return .success(hash)
    }
}
