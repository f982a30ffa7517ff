import Glibc
import SQLite
import Testing

@testable import Storage

@Suite("errors of SQLite") struct StorageErrorTests {
    @Test(
        "a disk without room is told from one that fails",
        arguments: [
            (ResultCode.full, Int32(0), StorageError.Kind.full),
            // The shared-memory file could not be made.
            (ResultCode(rawValue: 10 | 19 << 8), ENOSPC, .full),
            // SQLite tells the errno of a failed sync since 3.46.
            (ResultCode.failedSync, 0, .io),
            (ResultCode.failedSync, ENOSPC, .io),
            (ResultCode.ioError, EIO, .io),
        ])
    func kinds(code: ResultCode, systemCode: Int32, kind: StorageError.Kind) {
        let error = SQLiteError(operation: "COMMIT", code: code, message: "", systemCode: systemCode)
        #expect(StorageError(error).kind == kind)
    }
}
