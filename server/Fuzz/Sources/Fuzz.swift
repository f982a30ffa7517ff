import Base
import EnvelopeReader

/// libFuzzer's entry point. The first byte says what the rest is: `z` an upload in gzip, `c` a command, `f` a small body;
/// anything else an upload.
@_cdecl("LLVMFuzzerTestOneInput")
package func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: count)
    let body = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    switch input.first {
    case UInt8(ascii: "z"):
        if let unpacked = try? Gunzip.unpack(body, limit: 65_536) {
            precondition(unpacked.count <= 65_536)
            unpacked.withUnsafeBytes(read)
        }
    case UInt8(ascii: "c"): readCommand(body)
    case UInt8(ascii: "f"): readFields(body)
    default: read(body)
    }
    return 0
}

/// Whatever is accepted goes to a vehicle.
private func readCommand(_ bytes: UnsafeRawBufferPointer) {
    guard let order = try? CommandReader.read(bytes) else { return }
    precondition(CommandOrder.names.contains { $0.description == order.name })
    precondition((60...CommandOrder.longest).contains(order.lifetime))
    precondition(order.arguments.first == UInt8(ascii: "{") && order.arguments.last == UInt8(ascii: "}"))
    precondition(order.arguments.count <= CommandOrder.longestArguments)
}

private func readFields(_ bytes: UnsafeRawBufferPointer) {
    do {
        let fields = try FieldsReader.read(bytes)
        precondition(fields.count <= 100)
    } catch {
        precondition(!error.reason.isEmpty && error.pointer.utf8.count < 8000)
    }
}

/// Whatever is accepted must be in range: it goes into the database as it is.
private func read(_ bytes: UnsafeRawBufferPointer) {
    let batch: Batch
    do {
        batch = try BatchReader.read(bytes)
    } catch {
        precondition(!error.reason.isEmpty)
        return
    }
    for row in batch.locations {
        precondition((-90...90).contains(row.latitude) && (-180...180).contains(row.longitude))
        precondition(
            (row.accuracy ?? 0) >= 0 && (row.speed ?? 0) >= 0 && (0..<360).contains(row.bearing ?? 0))
        precondition([row.accuracy, row.speed, row.altitude].allSatisfy { $0?.isFinite ?? true })
        precondition(row.codes.trigger != nil && row.codes.motion != nil)
    }
    let remarks = batch.remarks
    precondition(remarks.events.allSatisfy { (1...64).contains($0.kind.unicodeScalars.count) })
    precondition(remarks.results.allSatisfy { (1...200).contains($0.id.unicodeScalars.count) })
    precondition(batch.footprint < 1 << 24)
    precondition(batch.events.allSatisfy { !$0.geofence.isEmpty && !$0.geofence.utf8.contains(0) })
    let fault = TimeRule.fault(in: batch, now: Timestamp(milliseconds: 1_781_000_000_000))
    precondition(fault != nil || batch.locations.allSatisfy { $0.time >= TimeRule.earliest })
}
