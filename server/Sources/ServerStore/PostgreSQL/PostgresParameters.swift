internal import Base
internal import CPostgres

/// The parameters of one statement, in the binary format: all their bytes in one block.
struct PostgresParameters {
    private var types: [Oid] = []
    private var bytes: [UInt8] = []
    /// Where each begins; nil for NULL.
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []

    init(_ values: [Cell]) {
        for value in values {
            let start = bytes.count
            switch value {
            case .null:
                types.append(0)
                offsets.append(nil)
                lengths.append(0)
                continue
            case .integer(let value):
                types.append(PostgresType.int8)
                withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
            case .real(let value):
                types.append(PostgresType.float8)
                withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes.append(contentsOf: $0) }
            case .text(let value):
                types.append(PostgresType.text)
                bytes.append(contentsOf: value.utf8)
            case .bytes(let value):
                types.append(PostgresType.bytea)
                bytes.append(contentsOf: value)
            case .id(let id):
                types.append(PostgresType.uuid)
                id.withBytes { bytes.append(contentsOf: $0) }
            }
            offsets.append(start)
            lengths.append(Int32(clamping: bytes.count - start))
        }
        // So that an empty value at the end has an address, too.
        bytes.append(0)
    }

    func withPointers<Result>(
        _ body: (
            UnsafePointer<Oid>, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>,
            UnsafePointer<Int32>
        ) -> Result
    ) -> Result {
        let formats = [Int32](repeating: 1, count: max(1, types.count))
        return bytes.withUnsafeBytes { block in
            let base = block.bindMemory(to: CChar.self).baseAddress
            let pointers =
                offsets.map { offset in offset.flatMap { offset in base.map { $0 + offset } } } + [nil]
            return body(types + [0], pointers, lengths + [0], formats)
        }
    }
}
