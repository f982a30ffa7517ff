public import Linux
internal import SQLite

/// Storage that failed: which operation, why, and what kind of fault it is.
public struct StorageError: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Kind: Equatable, Sendable {
        /// No space is left, on the device or under the database's own cap.
        case full
        /// The device failed, or the file system is read-only, or may not be used.
        case io
        /// The database is damaged, or is none.
        case corrupt
        /// A later version of beekond wrote this database.
        case newerSchema
        case other
    }

    public let operation: String
    public let kind: Kind
    public let message: String

    public init(operation: String, kind: Kind, message: String) {
        self.operation = operation
        self.kind = kind
        self.message = message
    }

    public init(_ error: SystemError) {
        self.init(operation: error.operation, kind: .io, message: error.description)
    }

    init(_ error: SQLiteError) {
        let kind: Kind =
            switch error.code.primary {
            case .full: .full
            case .corrupt, .notADatabase: .corrupt
            case .ioError, .readOnly, .cannotOpen: .io
            default: .other
            }
        self.init(operation: error.operation, kind: kind, message: error.description)
    }

    static func newerSchema(found: Int64, known: Int64) -> StorageError {
        StorageError(
            operation: "open", kind: .newerSchema,
            message:
                "beekon.db has schema \(found), this version of beekond knows up to \(known): install the "
                + "version that wrote it, or move the file away to start an empty one")
    }

    public var description: String { message }
}
