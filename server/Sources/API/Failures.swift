internal import Logging
internal import ServerStore

extension Logger {
    /// Logs what failed, unless the store has told it: that a database server does not answer is one line, not one for each who
    /// has met it.
    func failure(_ error: any Error, of work: String, then next: String? = nil) {
        if let error = error as? StoreError, error.isOutage { return }
        self.error("\(work): \(error)\(next.map { "; \($0)" } ?? "")")
    }
}
