import Base
import EnvelopeReader

/// libFuzzer's entry point. The first byte says whether the rest is gzip.
@_cdecl("LLVMFuzzerTestOneInput")
package func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: count)
    let body = UnsafeRawBufferPointer(rebasing: input.dropFirst())
    if input.first == UInt8(ascii: "z") {
        if let unpacked = try? Gunzip.unpack(body, limit: 65_536) {
            precondition(unpacked.count <= 65_536)
            unpacked.withUnsafeBytes(read)
        }
    } else {
        read(body)
    }
    return 0
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
    precondition(batch.events.allSatisfy { !$0.geofence.isEmpty && !$0.geofence.utf8.contains(0) })
    let fault = TimeRule.fault(in: batch, now: Timestamp(milliseconds: 1_781_000_000_000))
    precondition(fault != nil || batch.locations.allSatisfy { $0.time >= TimeRule.earliest })
}
