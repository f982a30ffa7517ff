internal import Glibc

/// A system call that failed.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted, for a log line: `open /var/lib/beekond/lock`.
    public let operation: String
    /// errno.
    public let code: Int32

    /// The code is an errno, which the description puts into words.
    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The failure of the call made just before.
    public init(_ operation: String) {
        self.init(operation, code: errno)
    }

    /// `open /var/lib/beekond/lock: Permission denied`.
    public var description: String {
        operation + ": " + String(cString: strerror(code))
    }
}

/// Calls again while a signal interrupts.
@discardableResult
func retrying<Result: SignedInteger>(_ operation: String, _ call: () -> Result) throws(SystemError) -> Result
{
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw SystemError(operation) }
    }
}
