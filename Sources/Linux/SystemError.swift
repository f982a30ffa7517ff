internal import Glibc

/// A system call that failed.
package struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted, for a log line: `open /var/lib/beekond/lock`.
    package let operation: String
    /// errno.
    package let code: Int32

    /// - Parameter code: errno, which the description translates.
    package init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// Captures errno of the call just made.
    package init(_ operation: String) {
        self.init(operation, code: errno)
    }

    /// `open /var/lib/beekond/lock: Permission denied`.
    package var description: String {
        operation + ": " + String(cString: strerror(code))
    }

    /// Whether we may not use a file, which may be intact: a run as root has left it behind.
    package var isForbidden: Bool { code == EACCES || code == EPERM }

    /// The description, with the remedy for a file of the state directory that we may not use.
    package var advice: String {
        isForbidden ? description + ", so chown it to the user that beekond runs as" : description
    }
}

/// Retries a call interrupted by a signal (EINTR).
@discardableResult
func retrying<Result: SignedInteger>(_ operation: String, _ call: () -> Result) throws(SystemError) -> Result
{
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw SystemError(operation) }
    }
}
