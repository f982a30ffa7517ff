internal import Base
internal import CPostgres

/// A parameter of a statement.
enum PostgresValue {
    case cell(Cell)
    /// One column of many rows, for `unnest`.
    case array(PostgresType.Element, [Cell])
}

/// The parameters of one statement, in the binary format: all their bytes in one block.
struct PostgresParameters {
    /// Object ids; 0 where PostgreSQL finds out by itself.
    private(set) var types: [Oid] = []
    private var bytes: [UInt8] = []
    /// Where each begins; nil for NULL.
    private var offsets: [Int?] = []
    private var lengths: [Int32] = []

    init(_ values: [PostgresValue]) {
        for value in values {
            let start = bytes.count
            switch value {
            case .cell(.null):
                types.append(0)
                offsets.append(nil)
                lengths.append(0)
                continue
            case .cell(let cell): types.append(append(cell))
            case .array(let element, let cells):
                types.append(element.array)
                append(cells, of: element)
            }
            offsets.append(start)
            lengths.append(Int32(clamping: bytes.count - start))
        }
        // So that an empty value at the end has an address, too.
        bytes.append(0)
    }

    /// - Returns: its type.
    private mutating func append(_ cell: Cell) -> Oid {
        switch cell {
        case .null: return 0
        case .integer(let value):
            append(value)
            return PostgresType.int8
        case .real(let value):
            append(value.bitPattern)
            return PostgresType.float8
        case .text(let value):
            bytes.append(contentsOf: value.utf8)
            return PostgresType.text
        case .bytes(let value):
            bytes.append(contentsOf: value)
            return PostgresType.bytea
        case .id(let id):
            id.withBytes { bytes.append(contentsOf: $0) }
            return PostgresType.uuid
        }
    }

    /// As `array_recv` of PostgreSQL reads it: dimensions, whether there are NULLs, type; length and first index of the
    /// dimension; then each with its length.
    private mutating func append(_ cells: [Cell], of element: PostgresType.Element) {
        append(Int32(1))
        append(Int32(cells.contains(.null) ? 1 : 0))
        append(element.type)
        append(Int32(clamping: cells.count))
        append(Int32(1))
        for cell in cells {
            guard cell != .null else {
                append(Int32(-1))
                continue
            }
            let place = bytes.count
            append(Int32(0))
            _ = append(cell)
            let length = Int32(clamping: bytes.count - place - 4)
            withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(place..<place + 4, with: $0) }
        }
    }

    private mutating func append<Number: FixedWidthInteger>(_ value: Number) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    func withPointers<Result>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>
        ) -> Result
    ) -> Result {
        let formats = [Int32](repeating: 1, count: max(1, types.count))
        return bytes.withUnsafeBytes { block in
            let base = block.bindMemory(to: CChar.self).baseAddress
            let pointers =
                offsets.map { offset in offset.flatMap { offset in base.map { $0 + offset } } } + [nil]
            return body(pointers, lengths + [0], formats)
        }
    }
}
